import { ExternalAddresses } from './external-addresses.ts'
import { listenToHost } from './host-listener.ts'
import { ListenAddresses } from './listen-addresses.ts'
import type { Listener } from '@libp2p/interface'
import type { FromSwarm } from '../behaviour/from-swarm.ts'
import type { SwarmComponents } from '../behaviour/swarm-components.ts'

/** Collaborators of {@link followAddresses}. */
export interface HostAddressesComponents {
  readonly node: Pick<SwarmComponents, 'addressManager' | 'events'>
  /** Tells the behaviours, as inputs. */
  tell (changes: readonly FromSwarm[]): void
  /** Told what should never have been thrown. Must not throw. */
  onError (cause: unknown): void
}

/** Tells behaviours of the listeners and addresses of the node, and of addresses of peers, as the node tells of them (S7.8). */
export function followAddresses (components: HostAddressesComponents): ExternalAddresses {
  const { node: { addressManager, events } } = components
  const tell = (changes: readonly FromSwarm[]): void => { components.tell(changes) }
  const onError = (cause: unknown): void => { components.onError(cause) }
  const listening = new ListenAddresses()
  const external = new ExternalAddresses(() => addressManager.getAddressesWithMetadata())
  listenToHost(events, 'transport:listening', (listener) => {
    if (listening.of(listener) === undefined) {
      followErrors(listener, listening, tell)
    }
    tell(listening.opened(listener))
  }, onError)
  listenToHost(events, 'transport:close', (listener) => { tell(listening.closed(listener)) }, onError)
  listenToHost(events, 'self:peer:update', () => { tell(external.refresh()) }, onError)
  listenToHost(events, 'peer:identify', ({ observedAddr }) => {
    if (observedAddr !== undefined) {
      tell(external.refresh())
    }
  }, onError)
  listenToHost(events, 'peer:update', (update) => { tell(external.ofPeer(update)) }, onError)
  return external
}

function followErrors (listener: Listener, listening: ListenAddresses, tell: (changes: readonly FromSwarm[]) => void): void {
  listener.addEventListener('error', ({ detail: error }) => {
    const [address] = listening.of(listener) ?? []
    if (address !== undefined) {
      tell([{ type: 'listener-error', address, error }])
    }
  })
}
