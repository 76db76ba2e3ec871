import { PENDING } from '../core/poll.ts'
import { isProtocolList } from '../protocols/protocol-list.ts'
import { InvalidStateError } from '../errors.ts'
import { attachBehaviour } from './attach.ts'
import { commandsOf } from './commands.ts'
import { CONTAINER } from './container.ts'
import { declaredBy } from './joined-listing.ts'
import { rollBack } from './network-behaviour.ts'
import type { PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { ConnectionId } from '../core/ids.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { Check, Denied } from './connection-denied.ts'
import type { AnyHandler } from './connection-handler.ts'
import type { Container } from './container.ts'
import type { FromSwarm } from './from-swarm.ts'
import type { AnyBehaviour, BehaviourSource, EstablishedConnection, NetworkBehaviour, PendingConnection } from './network-behaviour.ts'
import type { SwarmComponents } from './swarm-components.ts'
import type { ToSwarm } from './to-swarm.ts'

/**
 * A behaviour around another one, in whose place it stands: it has the same key, so what the inner one throws, or denies,
 * is the wrapper's. Every call goes through; a subclass changes what it has to.
 */
export abstract class BehaviourWrapper implements NetworkBehaviour<unknown, unknown, unknown, Error> {
  /** As every container has it; a class whose declarations are published cannot have its name in its body. */
  static {
    Object.defineProperty(this.prototype, CONTAINER, {
      get (this: BehaviourWrapper): Container[typeof CONTAINER] {
        return {
          attach: (components) => { this.#attach(components) },
          parts: () => new Map([['', this.behaviour]]),
          commands: () => this.commands(commandsOf(this.behaviour))
        }
      }
    })
  }

  /** As it was given. */
  readonly inner: BehaviourSource
  #behaviour: AnyBehaviour | undefined
  #cx: PollContext | undefined

  constructor (inner: BehaviourSource) {
    this.inner = inner
  }

  /** The same frozen array until a name changes. */
  get protocols (): readonly string[] {
    return declaredBy(this.behaviour)
  }

  /** The inner behaviour, once a node took it. */
  protected get behaviour (): AnyBehaviour {
    if (this.#behaviour === undefined) {
      throw new InvalidStateError('Cannot use a wrapped behaviour before a node took it')
    }
    return this.#behaviour
  }

  checkPending (attempt: PendingConnection): Check<Error> {
    return this.behaviour.checkPending?.(attempt)
  }

  commitPending (attempt: PendingConnection): Denied<Error> {
    return this.behaviour.commitPending?.(attempt)
  }

  addressesForDial (attempt: PendingConnection): readonly Multiaddr[] {
    return this.behaviour.addressesForDial?.(attempt) ?? []
  }

  checkEstablished (connection: EstablishedConnection): Check<Error> {
    return this.behaviour.checkEstablished?.(connection)
  }

  commitEstablished (connection: EstablishedConnection): AnyHandler | Denied<Error> {
    return this.behaviour.commitEstablished(connection)
  }

  rollback (attempt: PendingConnection | EstablishedConnection, cause: unknown): void {
    rollBack(this.behaviour, attempt, cause)
  }

  onSwarmEvent (event: FromSwarm): void {
    this.behaviour.onSwarmEvent?.(event)
  }

  onHandlerEvent (peer: PeerId, connection: ConnectionId, event: unknown): void {
    this.behaviour.onHandlerEvent?.(peer, connection, event)
  }

  poll (cx: PollContext): Poll<ToSwarm<unknown, unknown>> {
    this.follow(cx)
    return this.behaviour.poll?.(cx) ?? PENDING
  }

  /** What the application finds: beside `inner` the wrapper's own commands, if it has any. */
  protected commands (inner: object): object {
    return Object.freeze({ inner })
  }

  /** This is who polls; for a subclass that may not come to {@link poll} of this class. */
  protected follow (cx: PollContext): void {
    this.#cx = cx
  }

  /** Asks for a poll; before the first one there is no need to. */
  protected wake (): void {
    this.#cx?.wake()
  }

  #attach (components: SwarmComponents): void {
    const behaviour = attachBehaviour(this.inner, components)
    this.#behaviour = behaviour
    const { protocols } = behaviour
    if (protocols !== undefined && isProtocolList(protocols)) {
      protocols.attach({ wake: () => { this.wake() } })
    }
  }
}
