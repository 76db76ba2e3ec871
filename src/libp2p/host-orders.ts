import { toError } from '../core/to-error.ts'
import { verdictOf } from './verdict.ts'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { FromSwarm } from '../behaviour/from-swarm.ts'
import type { SwarmComponents } from '../behaviour/swarm-components.ts'
import type { AwaitCheck, ChangeListener } from '../behaviour/to-swarm.ts'
import type { HostOrder } from '../swarm/swarm-event.ts'
import type { Dialer } from './dialer.ts'
import type { ExternalAddresses } from './external-addresses.ts'
import type { VerdictTerms } from './verdict.ts'

/** Collaborators of {@link HostOrders}. */
export interface HostOrdersComponents {
  readonly node: Pick<SwarmComponents, 'addressManager' | 'peerStore' | 'transportManager'>
  readonly dialer: Dialer
  /** Told what behaviours say of them. */
  readonly addresses: ExternalAddresses
  readonly terms: VerdictTerms
  /** Gives an input, and drains. */
  turn (input: () => void): void
  /** Tells the behaviours something, as an input. */
  tell (event: FromSwarm): void
  /** Told what the host did not do. Must not throw. */
  onError (cause: unknown): void
}

/** Carries out what behaviours want of the node (S7.9). */
export class HostOrders {
  readonly #components: HostOrdersComponents

  constructor (components: HostOrdersComponents) {
    this.#components = components
  }

  /** Begins to do what `order` says; called in a drain. */
  obey (order: HostOrder): void {
    const { node: { addressManager, peerStore }, dialer, addresses } = this.#components
    switch (order.type) {
      case 'dial':
        dialer.order(order)
        break
      case 'listen-on':
      case 'remove-listener':
        void this.#changeListener(order)
        break
      case 'external-address-candidate':
        addressManager.addObservedAddr(order.address)
        addresses.said(order)
        break
      case 'external-address-confirmed':
        addressManager.confirmObservedAddr(order.address, { type: 'observed' })
        addresses.said(order)
        break
      case 'external-address-expired':
        addressManager.removeObservedAddr(order.address)
        addresses.said(order)
        break
      case 'peer-external-address':
        addresses.storing(order, async () => await peerStore.merge(order.peer, { multiaddrs: [order.address] }))
          .catch((error: unknown) => { this.#components.onError(error) })
        break
      case 'await-check':
        void this.#awaitCheck(order)
    }
  }

  async #changeListener ({ type, address }: ChangeListener): Promise<void> {
    try {
      if (type === 'listen-on') {
        await this.#components.node.transportManager.listen([address])
      } else {
        await this.#closeListener(address)
      }
    } catch (thrown) {
      this.#components.tell(Object.freeze({ type: 'listener-error', address, error: toError(thrown) }))
    }
  }

  async #closeListener (address: Multiaddr): Promise<void> {
    const listeners = this.#components.node.transportManager.getListeners()
    const listener = listeners.find((candidate) => candidate.getAddrs().some((own) => own.equals(address)))
    if (listener === undefined) {
      throw new Error(`Cannot remove listener: the node does not listen on ${address.toString()}`)
    }
    await listener.close()
  }

  async #awaitCheck (order: AwaitCheck): Promise<void> {
    const denied = await verdictOf(order.check, { stage: 'established', direction: 'inbound' }, this.#components.terms)
    this.#components.turn(() => { order.settle(denied) })
  }
}
