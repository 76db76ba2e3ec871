import type { Listener } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { FromSwarm } from '../behaviour/from-swarm.ts'

/** The addresses that the node listens on, by listener: one that has closed no longer tells them. */
export class ListenAddresses {
  readonly #byListener = new WeakMap<Listener, readonly Multiaddr[]>()

  /** A listener is up. */
  opened (listener: Listener): FromSwarm[] {
    const addresses = listener.getAddrs()
    this.#byListener.set(listener, addresses)
    return [{ type: 'new-listener', addresses }, ...addresses.map((address) => ({ type: 'new-listen-address', address } as const))]
  }

  /** A listener is gone. */
  closed (listener: Listener): FromSwarm[] {
    const addresses = this.#byListener.get(listener)
    if (addresses === undefined) {
      return []
    }
    this.#byListener.delete(listener)
    return [...addresses.map((address) => ({ type: 'expired-listen-address', address } as const)), { type: 'listener-closed', addresses }]
  }
}
