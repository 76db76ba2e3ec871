import { kindOf } from '../core/options.ts'
import { PENDING } from '../core/poll.ts'
import { toError } from '../core/to-error.ts'
import { WokenPart } from '../core/woken-parts.ts'
import { checkPolled } from '../handler/check-output.ts'
import { dropTasks, isThenable } from '../handler/tasks.ts'
import { ConnectionDenied, isDenial, placed } from './connection-denied.ts'
import { under } from './key-path.ts'
import { rollBack } from './network-behaviour.ts'
import type { PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { ConnectionId } from '../core/ids.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll } from '../core/poll.ts'
import type { Check, Denied, GateStage } from './connection-denied.ts'
import type { AnyHandler } from './connection-handler.ts'
import type { FromSwarm } from './from-swarm.ts'
import type { EstablishedConnection, NetworkBehaviour, PendingConnection } from './network-behaviour.ts'
import type { BehaviourFault, ToSwarm } from './to-swarm.ts'

const WISHES: Readonly<Record<ToSwarm['type'], true>> = {
  event: true,
  'notify-handler': true,
  'close-connection': true,
  dial: true,
  'listen-on': true,
  'remove-listener': true,
  'external-address-candidate': true,
  'external-address-confirmed': true,
  'external-address-expired': true,
  'peer-external-address': true,
  'behaviour-fault': true,
  'await-check': true
}

/** What a part asks of the composition, or the swarm, that holds it. */
export interface PartOwner {
  /** The part wants to be polled. */
  partWoke (part: BehaviourPart): void
  /** The part wants to be polled at `part.wakeInstant`. */
  partWakesAt (part: BehaviourPart): void
  /** A method of the part threw; it has been skipped. */
  partThrew (fault: BehaviourFault): void
}

/**
 * A behaviour in its place: its key, its poll context, and the wall that what it throws does not pass (S4.15). A gate that
 * throws denies.
 */
export class BehaviourPart<Event = unknown> extends WokenPart<BehaviourPart<Event>> {
  readonly key: string
  readonly behaviour: NetworkBehaviour<Event, unknown, unknown, Error>
  readonly #owner: PartOwner
  /** Connections on which the behaviour has no handler although there is one for the owner. */
  readonly absent: Set<ConnectionId> = new Set()

  constructor (key: string, behaviour: NetworkBehaviour<Event, unknown, unknown, Error>, owner: PartOwner) {
    super()
    this.key = key
    this.behaviour = behaviour
    this.#owner = owner
  }

  /** Asks for a poll. */
  wake (): void {
    this.#owner.partWoke(this)
  }

  /** Its answer for the pending stage; a denial does not say yet who denied. */
  checkPending (attempt: PendingConnection): Check<Error> {
    return this.#check('checkPending', () => this.behaviour.checkPending?.(attempt))
  }

  /** Its answer for the established stage; a denial does not say yet who denied. */
  checkEstablished (connection: EstablishedConnection): Check<Error> {
    return this.#check('checkEstablished', () => this.behaviour.checkEstablished?.(connection))
  }

  /** Commits the pending stage; a throw denies. */
  commitPending (attempt: PendingConnection): Denied<Error> {
    try {
      const denied = this.behaviour.commitPending?.(attempt)
      return denied === undefined ? undefined : this.#denied(denied, 'pending', attempt)
    } catch (cause) {
      this.#threw('commitPending', cause)
      return this.#denied(new ConnectionDenied(toError(cause)), 'pending', attempt)
    }
  }

  /** Commits the established stage: a handler, none, or a denial; a throw denies. */
  commitEstablished (connection: EstablishedConnection): AnyHandler | Denied<Error> {
    try {
      const answer = this.behaviour.commitEstablished(connection)
      if (isDenial(answer)) {
        return this.#denied(answer, 'established', connection)
      }
      if (answer === undefined || isHandler(answer)) {
        return answer
      }
      throw noHandler(answer)
    } catch (cause) {
      this.#threw('commitEstablished', cause)
      return this.#denied(new ConnectionDenied(toError(cause)), 'established', connection)
    }
  }

  /** To be called for a stage that it committed. */
  rollback (attempt: PendingConnection | EstablishedConnection, cause: unknown): void {
    this.absent.delete(attempt.id)
    try {
      rollBack(this.behaviour, attempt, cause)
    } catch (thrown) {
      this.#threw('rollback', thrown)
    }
  }

  /** Addresses that the behaviour knows for a dial. */
  addressesForDial (attempt: PendingConnection): readonly Multiaddr[] {
    try {
      return this.behaviour.addressesForDial?.(attempt) ?? []
    } catch (cause) {
      this.#threw('addressesForDial', cause)
      return []
    }
  }

  /** Tells the behaviour something about the node. */
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

  /** Tells the behaviour what one of its handlers says. */
  onHandlerEvent (peer: PeerId, connection: ConnectionId, event: unknown): void {
    try {
      this.behaviour.onHandlerEvent?.(peer, connection, event)
    } catch (cause) {
      this.#threw('onHandlerEvent', cause)
    }
  }

  /** Its next output; a throw counts as none. */
  poll (now: Instant): Poll<ToSwarm<Event, unknown>> {
    this.now = now
    try {
      return this.behaviour.poll === undefined ? PENDING : checkPolled(this.behaviour.poll(this), WISHES)
    } catch (cause) {
      this.#threw('poll', cause)
      return PENDING
    }
  }

  /** Its deadline is another one. */
  protected deadlineMoved (): void {
    this.#owner.partWakesAt(this)
  }

  #check (method: string, ask: () => unknown): Check<Error> {
    try {
      return parseAnswer(ask(), method)
    } catch (cause) {
      this.#threw(method, cause)
      return new ConnectionDenied(toError(cause))
    }
  }

  #denied (denied: ConnectionDenied, stage: GateStage, { direction }: PendingConnection | EstablishedConnection): ConnectionDenied {
    return placed(denied, { behaviour: under(this.key, denied.behaviour), stage, direction })
  }

  #threw (method: string, cause: unknown): void {
    this.#owner.partThrew({ type: 'behaviour-fault', behaviour: this.key, method, cause })
  }
}

/** What is neither an answer nor nothing is no permission. */
function parseAnswer (answer: unknown, method: string): Check<Error> {
  if (answer == null) {
    return undefined
  }
  if (isDenial(answer) || isThenable<Denied<Error>>(answer)) {
    return answer
  }
  throw new TypeError(`${method} must return a ConnectionDenied, a thenable of one, or undefined, received ${typeof answer}`)
}

function isHandler (value: unknown): boolean {
  return typeof value === 'object' && value !== null
    && 'listenProtocols' in value && typeof value.listenProtocols === 'function'
    && 'onConnectionEvent' in value && typeof value.onConnectionEvent === 'function'
}

/** What to say of an answer of `commitEstablished` that is none; a promise is an async method by mistake. */
function noHandler (answer: unknown): TypeError {
  const isPromise = isThenable(answer)
  if (isPromise) {
    dropTasks([answer])
  }
  const received = isPromise ? 'a promise: it must not be async' : kindOf(answer)
  return new TypeError(`commitEstablished must return a handler, with listenProtocols() and onConnectionEvent(), a ConnectionDenied or undefined; received ${received}`)
}
