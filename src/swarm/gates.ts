/**
 * The gates that a connection passes on its way into the swarm, and what takes it back (S7.2 to S7.6).
 *
 * ```
 * check ─▶ commitPending ─▶ check ─▶ commitEstablished ─▶ establish
 *               │                            │
 *               └──────── failed, undo ──────┘   rollback: established first, then pending
 * ```
 *
 * Each stage that was committed is either followed by the connection or taken back, once. A connection whose beginning the
 * host does not tell comes without the pending stage.
 */

import { isDenial } from '../behaviour/connection-denied.ts'
import { answersUnder, joinChecks } from '../behaviour/joint-check.ts'
import type { PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { Check, ConnectionDenied, Denied } from '../behaviour/connection-denied.ts'
import type { AnyHandler } from '../behaviour/connection-handler.ts'
import type { DialFailure, FromSwarm, ListenFailure } from '../behaviour/from-swarm.ts'
import type { DeniedAt } from '../behaviour/inference.ts'
import type { EstablishedConnection, PendingConnection } from '../behaviour/network-behaviour.ts'
import type { BehaviourPart } from '../behaviour/part.ts'
import type { ConnectionId } from '../core/ids.ts'

/** What the gates ask of the swarm. */
export interface GatesOwner {
  /** @throws InvalidStateError inside a poll */
  refuseInPoll (method: string): void
  /** Behaviours committed something, or took it back: they are polled then. */
  stir (): void
  /** Tells the behaviours, who are polled then. */
  tell (event: FromSwarm): void
  /** Tells everybody else, after the behaviours. */
  report (event: DeniedAt<string, Error> | DialFailure | ListenFailure): void
}

/** What the behaviours committed for one connection that is not there yet. */
interface Attempt {
  pending: PendingConnection | undefined
  established: { readonly connection: EstablishedConnection, readonly handler: AnyHandler | undefined } | undefined
}

/** See above. All methods are inputs of the swarm: poll afterwards. */
export class Gates {
  readonly #root: BehaviourPart
  readonly #owner: GatesOwner
  readonly #attempts = new Map<ConnectionId, Attempt>()

  constructor (root: BehaviourPart, owner: GatesOwner) {
    this.#root = root
    this.#owner = owner
  }

  /** Addresses that behaviours add to a dial. */
  addressesForDial (attempt: PendingConnection): readonly Multiaddr[] {
    this.#owner.refuseInPoll('addressesForDial')
    return this.#root.addressesForDial(attempt)
  }

  /** Whether `attempt` may begin; changes nothing. */
  checkPending (attempt: PendingConnection): Check<Error> {
    this.#owner.refuseInPoll('checkPending')
    return joinChecks(answersUnder('', this.#root.checkPending(attempt)), { stage: 'pending', direction: attempt.direction })
  }

  /** Whether `connection` may be; changes nothing. */
  checkEstablished (connection: EstablishedConnection): Check<Error> {
    this.#owner.refuseInPoll('checkEstablished')
    return joinChecks(answersUnder('', this.#root.checkEstablished(connection)), { stage: 'established', direction: connection.direction })
  }

  /** `attempt` begins, unless somebody denies it after all. */
  commitPending (attempt: PendingConnection): Denied<Error> {
    this.#owner.refuseInPoll('commitPending')
    this.#owner.stir()
    const denied = this.#root.commitPending(attempt)
    if (denied === undefined) {
      this.#attemptOf(attempt.id).pending = attempt
    }
    return denied
  }

  /** The handlers for `connection` are made, unless somebody denies it after all; they wait for `establish` of the swarm. */
  commitEstablished (connection: EstablishedConnection): Denied<Error> {
    this.#owner.refuseInPoll('commitEstablished')
    this.#owner.stir()
    const answer = this.#root.commitEstablished(connection)
    if (isDenial(answer)) {
      return answer
    }
    this.#attemptOf(connection.id).established = { connection, handler: answer }
    return undefined
  }

  /**
   * The handler for a connection that is there now; of one that has not passed the gate yet, it is committed here.
   *
   * @throws ConnectionDenied when a behaviour denies it; nothing of this stage is left then
   */
  admit (connection: EstablishedConnection): AnyHandler | undefined {
    if (this.#attempts.get(connection.id)?.established === undefined) {
      const denied = this.commitEstablished(connection)
      if (denied !== undefined) {
        throw denied
      }
    }
    return this.#attempts.get(connection.id)?.established?.handler
  }

  /** The connection is there: nothing is taken back any more. */
  passed (id: ConnectionId): void {
    this.#attempts.delete(id)
  }

  /** Takes the established stage back: another address may still lead to the connection. */
  undoEstablished (id: ConnectionId, cause: unknown): void {
    this.#owner.refuseInPoll('undoEstablished')
    this.#owner.stir()
    const attempt = this.#attempts.get(id)
    if (attempt?.established !== undefined) {
      const { connection } = attempt.established
      attempt.established = undefined
      this.#root.rollback(connection, cause)
    }
  }

  /** Takes everything back, without a word to anybody but those who had committed. */
  undo (id: ConnectionId, cause: unknown): void {
    this.undoEstablished(id, cause)
    const pending = this.#attempts.get(id)?.pending
    this.#attempts.delete(id)
    if (pending !== undefined) {
      this.#root.rollback(pending, cause)
    }
  }

  /** An attempt came to nothing: everything is taken back, then all behaviours are told, and everybody else. */
  failed (failure: DialFailure | ListenFailure): void {
    this.undo(failure.connection, failure.cause)
    const event = Object.freeze({ ...failure, errors: Object.freeze([...failure.errors]) })
    this.#owner.tell(event)
    this.#owner.report(event)
  }

  /** Tells everybody but the behaviours that one of them denied a connection. */
  denied ({ behaviour, stage, direction, cause }: ConnectionDenied, connection: ConnectionId | undefined, peer: PeerId | undefined): void {
    this.#owner.refuseInPoll('denied')
    this.#owner.report(Object.freeze({ type: 'connection-denied', behaviour, stage, direction, cause, connection, peer }))
  }

  #attemptOf (id: ConnectionId): Attempt {
    const attempt = this.#attempts.get(id) ?? { pending: undefined, established: undefined }
    this.#attempts.set(id, attempt)
    return attempt
  }
}
