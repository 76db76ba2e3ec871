import { handle, select } from '@libp2p/multistream-select'
import { DialerNegotiation, ListenerNegotiation } from 'libp2p-behaviours/negotiation'
import { LocalProtocols } from 'libp2p-behaviours/protocols'
import { negotiateOver } from '../test/support/negotiate-over.ts'
import { streamPair } from '../test/support/stream-pair.ts'
import type { Bench, Matrix } from './matrix.ts'

interface Cell {
  /** Names of the listener; the dialer wants the last one. */
  readonly protocols: number
  /** Our machines, or `select` and `handle` of `@libp2p/multistream-select`. */
  readonly variant: 'ours' | 'stock'
  readonly [axis: string]: string | number
}

/**
 * One negotiation, both ends. All of them use the same two streams, one after the other, so that no stream is made in the
 * timed part; what is sent arrives in a microtask.
 */
export const negotiationPair: Matrix<Cell> = {
  name: 'negotiation-pair',
  cells: [1, 10, 100, 1000].flatMap(protocols => [{ protocols, variant: 'ours' }, { protocols, variant: 'stock' }] as const),
  iterations: 200,
  baseline: 'stock',
  setup: ({ protocols, variant }) => {
    const names = Array.from({ length: protocols }, (_, index) => `/bench/${index}/1.0.0`)
    const wanted = `/bench/${protocols - 1}/1.0.0`
    return benchOf(wanted, variant === 'ours' ? ours(names, wanted) : stock(names, wanted))
  }
}

/** Negotiates once; gives what each end agreed on. */
type Negotiate = () => Promise<[dialer: string, listener: string]>

function benchOf (wanted: string, negotiate: Negotiate): Bench {
  return {
    async run (iterations) {
      let agreed = 0
      for (let left = iterations; left > 0; left--) {
        const [dialer, listener] = await negotiate()
        agreed += Number(dialer === wanted) + Number(listener === wanted)
      }
      return agreed
    },
    verify: (iterations, checksum) => checksum === 2 * iterations
  }
}

function ours (names: readonly string[], wanted: string): Negotiate {
  const [outbound, inbound] = streamPair()
  const local = new LocalProtocols({ maxProtocols: Infinity, maxNameBytes: 1023 })
  local.update(names, [])
  return async () => {
    const [dialer, listener] = await Promise.all([
      negotiateOver(outbound, new DialerNegotiation([wanted])),
      negotiateOver(inbound, new ListenerNegotiation(local.snapshot()))
    ])
    return [dialer.type === 'ok' ? dialer.protocol : '', listener.type === 'ok' ? listener.protocol : '']
  }
}

function stock (names: string[], wanted: string): Negotiate {
  const [outbound, inbound] = streamPair()
  return async () => Promise.all([select(outbound, wanted), handle(inbound, names)])
}
