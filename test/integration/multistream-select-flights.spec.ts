/** V1Lazy saves one round trip against the listener of `@libp2p/multistream-select` too: flights are counted, not timed. */

import * as stock from '@libp2p/multistream-select'
import { byteStream } from '@libp2p/utils'
import { DEFAULT_LIMITS, DialerNegotiation, PENDING, handle, select } from 'libp2p-behaviours/negotiation'
import { describe, expect, it } from 'vitest'
import { fakeStreams } from '../support/fake-stream.ts'
import { toHex, wire } from '../support/wire.ts'
import type { Stream } from '@libp2p/interface'
import type { FakeStream } from '../support/fake-stream.ts'

type Listen = (stream: Stream) => Promise<string>

const LISTENERS: ReadonlyArray<[name: string, listen: Listen]> = [
  ['our', async stream => handle(stream, ['/b', '/a'])],
  ['the stock', async stream => stock.handle(stream, ['/b', '/a'])]
]

/** Two streams over a link on which everything that is sent in one flight arrives with the next. */
class Link {
  readonly outbound: FakeStream
  readonly inbound: FakeStream
  flights = 0
  readonly #underWay: Array<() => void> = []

  constructor () {
    [this.outbound, this.inbound] = fakeStreams(deliver => this.#underWay.push(deliver))
  }

  /** Lets bytes fly until `isDone`; both ends have all the time they want in between. */
  async fly (isDone: () => boolean): Promise<number> {
    for (;;) {
      for (let turns = 0; turns < 20; turns++) {
        await new Promise((resolve) => { setImmediate(resolve) })
      }
      if (isDone()) {
        return this.flights
      }
      expect(this.#underWay).not.toEqual([])
      this.flights++
      for (const deliver of this.#underWay.splice(0)) {
        deliver()
      }
    }
  }
}

/** Answers `ping` with `pong`, once the negotiation agreed. */
async function serve (stream: Stream, listen: Listen): Promise<void> {
  await listen(stream)
  const bytes = byteStream(stream)
  expect(toHex((await bytes.read({ bytes: 4 })).subarray())).toBe(toHex(wire('ping')))
  await bytes.write(wire('pong'))
}

/** A request over a stream that is opened for it; resolves with its response. */
async function requestV1 (stream: Stream): Promise<string> {
  await select(stream, '/a')
  const bytes = byteStream(stream)
  await bytes.write(wire('ping'))
  return toHex((await bytes.read({ bytes: 4 })).subarray())
}

async function requestLazily (stream: Stream): Promise<string> {
  const negotiation = new DialerNegotiation(['/a'], DEFAULT_LIMITS, { lazy: true })
  const opening = negotiation.write(wire('ping'))
  expect(negotiation.assumed).toBe('/a')
  stream.send(opening ?? new Uint8Array(0))
  return new Promise((resolve) => {
    let received = ''
    stream.addEventListener('message', ({ data }) => {
      if (negotiation.pollOutcome() !== PENDING) {
        received += toHex(data.subarray())
      } else {
        negotiation.handleData(data.subarray())
        const outcome = negotiation.pollOutcome()
        received += outcome !== PENDING && outcome.type === 'ok' ? toHex(outcome.rest ?? new Uint8Array(0)) : ''
      }
      if (received.length >= 8) {
        resolve(received)
      }
    })
  })
}

describe.each(LISTENERS)('a request and its response on a new stream to %s listener', (_, listen) => {
  it.each([
    ['four flights with V1', 4, requestV1],
    ['two flights with V1Lazy', 2, requestLazily]
  ] as const)('take %s', async (_title, flights, request) => {
    const link = new Link()
    const served = serve(link.inbound, listen)
    let response = ''
    const answered = request(link.outbound).then((bytes) => { response = bytes })
    expect(await link.fly(() => response !== '')).toBe(flights)
    await Promise.all([served, answered])
    expect(response).toBe(toHex(wire('pong')))
  })
})
