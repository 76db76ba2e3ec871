import { matrix } from 'libp2p-behaviours/bench'
import { DEFAULT_LIMITS, DialerNegotiation, ListenerNegotiation, PENDING } from 'libp2p-behaviours/negotiation'
import { LocalProtocols } from 'libp2p-behaviours/protocols'
import { namesOf } from './negotiate.ts'
import type { NegotiationOutcome, Poll } from 'libp2p-behaviours/negotiation'

const DATA = new Uint8Array(32)

/** Both machines and nothing else, from nothing to the outcome of both: bytes go from one to the other by hand. */
export default matrix({
  name: 'negotiation-sans-io',
  axes: {
    /** Names of the listener; the dialer wants the last one. */
    protocols: [1, 1000, 10_000],
    /** Whether the dialer waits for the answer before it writes its first data. */
    variant: ['v1', 'v1-lazy']
  },
  baseline: { variant: 'v1' },
  setup: ({ protocols, variant }) => {
    const names = namesOf(protocols)
    const local = new LocalProtocols({ maxProtocols: Infinity, maxNameBytes: 1023 })
    local.update(names, [])
    return { wanted: names.slice(-1), local, options: { lazy: variant === 'v1-lazy' } }
  },
  run: ({ wanted, local, options }, iterations) => {
    let agreed = 0
    for (let left = iterations; left > 0; left--) {
      const dialer = new DialerNegotiation(wanted, DEFAULT_LIMITS, options)
      const listener = new ListenerNegotiation(local.snapshot(), DEFAULT_LIMITS)
      pass(dialer.write(DATA) ?? dialer.takeOutput(), listener)
      pass(listener.takeOutput(), dialer)
      agreed += isAgreed(dialer.pollOutcome()) + isAgreed(listener.pollOutcome())
    }
    return agreed
  },
  verify: (_, { iterations, checksum }) => checksum === 2 * iterations
})

function pass (bytes: Uint8Array | undefined, to: { handleData (bytes: Uint8Array): void }): void {
  if (bytes !== undefined) {
    to.handleData(bytes)
  }
}

function isAgreed (outcome: Poll<NegotiationOutcome<unknown>>): number {
  return Number(outcome !== PENDING && outcome.type === 'ok')
}
