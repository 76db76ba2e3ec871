/** Our `select` and `handle` beside those of `@libp2p/multistream-select`, on what both should take alike. */

import * as stock from '@libp2p/multistream-select'
import { handle, select } from '../../src/negotiation/index.ts'
import { fakeStreams } from '../support/fake-stream.ts'
import { naiveFrame } from '../support/naive-multistream.ts'
import { Draw, NAMES } from './negotiation-inputs.ts'
import type { Stream } from '@libp2p/interface'

type Negotiate = (stream: Stream) => Promise<string>

interface Exchange {
  readonly negotiate: { readonly ours: Negotiate, readonly stock: Negotiate }
  readonly bytes: readonly number[]
}

/**
 * Checks the exchange of a seed.
 *
 * @throws Error for a difference, with both sides of it
 */
export async function fuzzBesideStock (seed: number): Promise<void> {
  const draw = new Draw(seed)
  const { negotiate, bytes } = draw.chance(0.5) ? dialed(draw) : answered(draw)
  const cuts = draw.list(0, 6, () => draw.below(bytes.length + 1)).sort((left, right) => left - right)
  const [left, right] = [await observe(negotiate.ours, bytes, cuts), await observe(negotiate.stock, bytes, cuts)]
  if (left !== right) {
    throw new Error(`ours: ${left}\nstock: ${right}\nseed ${seed}, bytes ${Buffer.from(bytes).toString('hex')}, cut at ${cuts.join()}`)
  }
}

/** A dialer whose peer refuses some names, then agrees; data follows. */
function dialed (draw: Draw): Exchange {
  const names = draw.list(1, 4, () => draw.one(NAMES))
  const refusals = draw.below(names.length)
  const answers = ['/multistream/1.0.0', ...names.slice(0, refusals).map(() => 'na'), ...names.slice(refusals, refusals + 1)]
  return {
    negotiate: { ours: async stream => select(stream, names), stock: async stream => stock.select(stream, names) },
    bytes: [...answers.flatMap(naiveFrame), ...draw.noise(20)]
  }
}

/** A listener whose peer proposes names and asks for the list once at most; data follows an agreement only. */
function answered (draw: Draw): Exchange {
  const names = [...new Set(draw.list(0, 4, () => draw.one(NAMES)))]
  const unlisted = draw.list(0, 5, () => draw.one(['/c', '/A', '/a/', '', 'na', 'lsx']))
  const requests = ['/multistream/1.0.0', ...unlisted, ...draw.chance(0.3) ? ['ls'] : [], ...names.slice(0, 1)]
  return {
    negotiate: { ours: async stream => handle(stream, names), stock: async stream => stock.handle(stream, names) },
    bytes: [...requests.flatMap(naiveFrame), ...names.length > 0 ? draw.noise(20) : []]
  }
}

/** The result, what was sent, and what the caller can still read. */
async function observe (negotiate: Negotiate, bytes: readonly number[], cuts: readonly number[]): Promise<string> {
  const [stream, peer] = fakeStreams(queueMicrotask)
  const sent: number[] = []
  const rest: number[] = []
  peer.addEventListener('message', ({ data }) => { sent.push(...data.subarray()) })
  let result = 'pending'
  negotiate(stream).then(protocol => { result = protocol }, (error: unknown) => { result = String(error) })
  for (const [index, place] of [...cuts, bytes.length].entries()) {
    peer.send(Uint8Array.from(bytes.slice(cuts[index - 1] ?? 0, place)))
    await turn()
  }
  await turn()
  await turn()
  stream.addEventListener('message', ({ data }) => { rest.push(...data.subarray()) })
  await turn()
  return `${result}, sent ${Buffer.from(sent).toString('hex')}, rest ${Buffer.from(rest).toString('hex')}`
}

async function turn (): Promise<void> {
  await new Promise((resolve) => { setImmediate(resolve) })
}
