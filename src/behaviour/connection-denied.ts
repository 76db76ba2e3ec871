import { isError } from '../core/to-error.ts'
import type { Direction } from '../core/ids.ts'

/** Where a gate stands: before the peer is known, or before anybody is told of the connection. */
export type GateStage = 'pending' | 'established'

/** Who denied a connection, and when. */
export interface DenialPlace {
  /** Keys of the behaviour, joined with dots; empty until its composition has said so. */
  readonly behaviour: string
  readonly stage: GateStage
  readonly direction: Direction
}

/**
 * A connection was refused by a behaviour. A gate returns one with its cause; the swarm fills in the rest, and gives it to
 * the caller of `dial`, with `dial-failure` or `listen-failure`, and in the event `connection:denied` (S7.6).
 *
 * A gate that threw, rejected or was late denies as well: `cause` is then what it threw, or a `TimeoutError`.
 *
 * @example
 * checkPending ({ direction }) {
 *   return direction === 'inbound' && this.#isFull ? new ConnectionDenied(new LimitExceededError(this.#limit)) : undefined
 * }
 */
export class ConnectionDenied<Cause extends Error = Error> extends Error implements DenialPlace {
  override readonly name = 'ConnectionDenied'
  /** Told apart by its `name`. */
  override readonly cause: Cause
  readonly behaviour: string
  readonly stage: GateStage
  readonly direction: Direction

  /**
   * @param cause - why; typed, so that whoever hears of it can act on it
   * @param place - filled in by the swarm
   */
  constructor (cause: Cause, place: DenialPlace = { behaviour: '', stage: 'pending', direction: 'outbound' }) {
    super(messageOf(cause, place))
    this.cause = cause
    this.behaviour = place.behaviour
    this.stage = place.stage
    this.direction = place.direction
  }

  /** The first error in the chain of causes that `guard` recognises. */
  find<Found extends Error> (guard: (cause: Error) => cause is Found): Found | undefined {
    const seen = new Set<unknown>()
    for (let cause: unknown = this.cause; cause instanceof Error && !seen.has(cause); cause = cause.cause) {
      if (guard(cause)) {
        return cause
      }
      seen.add(cause)
    }
    return undefined
  }
}

/** What a gate says at once: a denial, or nothing. */
export type Denied<Cause extends Error> = ConnectionDenied<Cause> | undefined

/** What a check says, now or later. Only the adapter waits: at most `gateTimeoutMs`, then the check denies (S7.3). */
export type Check<Cause extends Error> = Denied<Cause> | PromiseLike<Denied<Cause>>

/** By name, as a denial may have been made by another copy of this package. */
export function isDenial (value: unknown): value is ConnectionDenied {
  return isError(value) && value.name === 'ConnectionDenied' && isError(value.cause)
}

/** The same denial, as of `place`: what an author returned may be a constant, and is left alone. */
export function placed (denied: ConnectionDenied, place: DenialPlace): ConnectionDenied {
  return new ConnectionDenied(denied.cause, place)
}

function messageOf (cause: Error, { behaviour, stage, direction }: DenialPlace): string {
  return behaviour === ''
    ? `Connection denied: ${cause.message}`
    : `Connection denied by "${behaviour}" (${stage}, ${direction}): ${cause.message}`
}
