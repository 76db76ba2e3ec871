import { NEVER } from '../core/instant.ts'
import { kindOf } from '../core/options.ts'
import { PENDING } from '../core/poll.ts'
import { checkPolled } from '../handler/check-output.ts'
import { asTask, dropTasks } from '../handler/tasks.ts'
import type { PeerId } from '@libp2p/interface'
import type { ConnectionId } from '../core/ids.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { AnyHandler } from './connection-handler.ts'
import type { FromSwarm } from './from-swarm.ts'
import type { EstablishedConnection, NetworkBehaviour } from './network-behaviour.ts'
import type { BehaviourFault, ToSwarm } from './to-swarm.ts'

const WISHES: Readonly<Record<ToSwarm['type'], true>> = { event: true, 'notify-handler': true, 'close-connection': true, 'behaviour-fault': true }

/** What a part asks of the composition, or the swarm, that holds it. */
export interface PartOwner {
  /** The part wants to be polled. */
  partWoke (part: BehaviourPart): void
  /** The part wants to be polled at `part.wakeInstant`. */
  partWakesAt (part: BehaviourPart): void
  /** A method of the part threw; it has been skipped. */
  partThrew (fault: BehaviourFault): void
}

/** A behaviour in its place: its key, its poll context, and the wall that what it throws does not pass (S4.15). */
export class BehaviourPart<Event = unknown> implements PollContext {
  readonly key: string
  readonly behaviour: NetworkBehaviour<Event, unknown, unknown>
  readonly #owner: PartOwner
  /** Connections on which the behaviour has no handler although there is one for the owner. */
  readonly absent: Set<ConnectionId> = new Set()
  now: Instant = 0
  wakeInstant: Instant = NEVER
  /** Waits in a queue of its owner. */
  isQueued = false

  constructor (key: string, behaviour: NetworkBehaviour<Event, unknown, unknown>, owner: PartOwner) {
    this.key = key
    this.behaviour = behaviour
    this.#owner = owner
  }

  wake (): void {
    this.#owner.partWoke(this)
  }

  wakeAt (instant: Instant): void {
    this.wakeInstant = instant
    this.#owner.partWakesAt(this)
  }

  commitEstablished (connection: EstablishedConnection): AnyHandler | undefined {
    try {
      return checkHandler(this.behaviour.commitEstablished(connection))
    } catch (cause) {
      this.#threw('commitEstablished', cause)
      return undefined
    }
  }

  onSwarmEvent (event: FromSwarm): void {
    if (event.type === 'connection-closed') {
      this.absent.delete(event.connection)
    }
    try {
      this.behaviour.onSwarmEvent?.(event)
    } catch (cause) {
      this.#threw('onSwarmEvent', cause)
    }
  }

  onHandlerEvent (peer: PeerId, connection: ConnectionId, event: unknown): void {
    try {
      this.behaviour.onHandlerEvent?.(peer, connection, event)
    } catch (cause) {
      this.#threw('onHandlerEvent', cause)
    }
  }

  poll (now: Instant): Poll<ToSwarm<Event, unknown>> {
    this.now = now
    try {
      return this.behaviour.poll === undefined ? PENDING : checkPolled(this.behaviour.poll(this), WISHES)
    } catch (cause) {
      this.#threw('poll', cause)
      return PENDING
    }
  }

  #threw (method: string, cause: unknown): void {
    this.#owner.partThrew({ type: 'behaviour-fault', behaviour: this.key, method, cause })
  }
}

/** @throws TypeError for what is no handler, such as the promise of an async method */
function checkHandler (handler: AnyHandler | undefined): AnyHandler | undefined {
  if (handler === undefined || isHandler(handler)) {
    return handler
  }
  const task = asTask(handler)
  if (task !== undefined) {
    dropTasks([task])
  }
  const received = task === undefined ? kindOf(handler) : 'a promise: it must not be async'
  throw new TypeError(`commitEstablished must return a handler, with listenProtocols() and onConnectionEvent(), or undefined; received ${received}`)
}

function isHandler (value: unknown): boolean {
  return typeof value === 'object' && value !== null
    && 'listenProtocols' in value && typeof value.listenProtocols === 'function'
    && 'onConnectionEvent' in value && typeof value.onConnectionEvent === 'function'
}
