import type { Listener } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { FromSwarm, ListenAddressChange } from '../behaviour/from-swarm.ts'

/** The addresses that the node listens on, by listener: one that has closed no longer tells them. */
export class ListenAddresses {
  readonly #byListener = new WeakMap<Listener, readonly Multiaddr[]>()

  /** Those of a listener that is up, as they were told last; undefined for any other. */
  of (listener: Listener): readonly Multiaddr[] | undefined {
    return this.#byListener.get(listener)
  }

  /** A listener is up, or one that was has other addresses now. */
  opened (listener: Listener): FromSwarm[] {
    const addresses = listener.getAddrs()
    const before = this.#byListener.get(listener)
    this.#byListener.set(listener, addresses)
    const changes = [...changesOf('expired-listen-address', before ?? [], addresses), ...changesOf('new-listen-address', addresses, before ?? [])]
    return before === undefined ? [{ type: 'new-listener', addresses }, ...changes] : changes
  }

  /** A listener is gone. */
  closed (listener: Listener): FromSwarm[] {
    const addresses = this.#byListener.get(listener)
    if (addresses === undefined) {
      return []
    }
    this.#byListener.delete(listener)
    return [...changesOf('expired-listen-address', addresses, []), { type: 'listener-closed', addresses }]
  }
}

/** For each of `some` that is not one of `others`. */
function changesOf (type: ListenAddressChange['type'], some: readonly Multiaddr[], others: readonly Multiaddr[]): ListenAddressChange[] {
  return some.filter((address) => !others.some((other) => other.equals(address))).map((address) => ({ type, address }))
}
