import { DialFailureError } from '../behaviour/dial-failure-error.ts'
import { ConnectionClosedError, NotConnectedError } from '../errors.ts'
import { Outbox } from '../handler/outbox.ts'
import { Call, Calls } from './calls.ts'
import { OwnConnections } from './own-connections.ts'
import { undeliveredError } from './undelivered.ts'
import type { PeerId } from '@libp2p/interface'
import type { DialFailure, FromSwarm, MessageUndelivered } from '../behaviour/from-swarm.ts'
import type { EstablishedConnection, PendingConnection } from '../behaviour/network-behaviour.ts'
import type { Dial, NotifyHandler } from '../behaviour/to-swarm.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { CallOptions } from './call-options.ts'

/** What {@link PeerCalls} need. */
export interface PeerCallsInit<Result, Message> {
  /** For messages: `Cannot open stream`. */
  readonly action: string
  /** Most calls that are open at a time; the next one fails with kind `limit`. */
  readonly maxOpen: number
  /** The handler ends calls whose time is up; here only those that wait for a connection are. @default false */
  readonly isTimedByHandler?: boolean
  /** Tells the handler that a call ended without it: by its signal or its deadline. */
  toCancel (call: Call<Result>, error: Error): Message
}

/**
 * Calls to peers, each a message to the handler on the oldest connection. Without a connection the peer is dialed first
 * (S7.17), once for all who wait for it.
 */
export class PeerCalls<Result, Message> {
  readonly #init: PeerCallsInit<Result, Message>
  readonly #connections = new OwnConnections()
  readonly #calls: Calls<Result>
  /** Those for whom a dial is under way, with what their handler is to be told; bounded as calls are. */
  readonly #waiting = new Map<string, Map<Call<Result>, Message>>()
  /** Not bounded here: its values come from calls, which are. */
  readonly #outbox = new Outbox<NotifyHandler<Message> | Dial>(Infinity)

  constructor (init: PeerCallsInit<Result, Message>) {
    const { action, maxOpen } = init
    this.#init = init
    this.#calls = new Calls({ action, maxOpen, onAbandoned: (call, error) => { this.#abandoned(call, error) } })
  }

  /**
   * Begins a call. It ends as {@link Calls} say, or with `NotConnectedError` when there is no connection on which the
   * behaviour runs, and none could be had; its `cause` is then a `DialFailureError`.
   *
   * @param toMessage - what the handler is told; it settles the call
   */
  async call (peer: PeerId, { signal, timeoutMs }: CallOptions, defaultTimeoutMs: number, toMessage: (call: Call<Result>) => Message): Promise<Result> {
    const connection = this.#connections.find(peer, this.#init.action)
    const isTimedHere = connection === undefined || this.#init.isTimedByHandler !== true
    const call = this.#calls.start({ peer, connection }, { signal, timeoutMs: isTimedHere ? timeoutMs : undefined }, defaultTimeoutMs)
    const message = toMessage(call)
    if (connection === undefined) {
      this.#wait(call, message)
    } else {
      this.#tell(call, message)
    }
    return await call.promise
  }

  /** The behaviour made a handler for `connection`. */
  add (connection: EstablishedConnection): void {
    this.#connections.add(connection)
  }

  /** Takes {@link add} back. */
  rollback (attempt: PendingConnection | EstablishedConnection): void {
    this.#connections.rollback(attempt)
  }

  /** To be told of every event. */
  onSwarmEvent (event: FromSwarm): void {
    this.#connections.onSwarmEvent(event)
    if (event.type === 'connection-established') {
      this.#connected(event.peer)
    } else if (event.type === 'connection-closed') {
      this.#calls.rejectAll(event.connection, new ConnectionClosedError(`${this.#init.action}: the connection closed`))
    } else if (event.type === 'dial-failure') {
      this.#dialFailed(event)
    } else if (event.type === 'handler-notified' && !event.delivered) {
      this.#undelivered(event)
    }
  }

  /** What it wants of the swarm; ends the calls whose time is up. */
  poll (cx: PollContext): Poll<NotifyHandler<Message> | Dial> {
    this.#calls.poll(cx)
    return this.#outbox.poll(cx)
  }

  #tell ({ peer, connection }: Call<Result>, event: Message): void {
    if (connection !== undefined) {
      this.#outbox.push({ type: 'notify-handler', peer, connection, event })
    }
  }

  /** A dial that is under way to the peer is as good as one of ours: we share its outcome. */
  #wait (call: Call<Result>, message: Message): void {
    const key = call.peer.toString()
    const others = this.#waiting.get(key)
    if (others === undefined) {
      this.#waiting.set(key, new Map([[call, message]]))
      this.#outbox.push({ type: 'dial', target: call.peer, condition: 'disconnected' })
    } else {
      others.set(call, message)
    }
  }

  /** One that waits is held no longer; the dial goes on, for who comes before it has ended. */
  #abandoned (call: Call<Result>, error: Error): void {
    this.#waiting.get(call.peer.toString())?.delete(call)
    this.#tell(call, this.#init.toCancel(call, error))
  }

  #connected (peer: PeerId): void {
    for (const [call, message] of this.#takeWaiting(peer)) {
      try {
        call.connection = this.#connections.oldest(peer, this.#init.action)
        this.#tell(call, message)
      } catch (error) {
        call.reject(error)
      }
    }
  }

  /** A condition that does not hold is somebody else's: we wait for peers without a connection only. */
  #dialFailed (failure: DialFailure): void {
    if (failure.peer !== undefined && failure.kind !== 'condition-false') {
      const cause = new DialFailureError(failure)
      for (const [call] of this.#takeWaiting(failure.peer)) {
        call.reject(new NotConnectedError(`${this.#init.action}: there is no connection to ${call.peer.toString()}, and none could be had: ${cause.message}`, { cause }))
      }
    }
  }

  /** The handler never heard of the call. */
  #undelivered ({ reason, event }: MessageUndelivered): void {
    const call = callIn(event)
    call?.reject(undeliveredError(this.#init.action, call, reason))
  }

  /** Those who still wait. */
  #takeWaiting (peer: PeerId): Iterable<[Call<Result>, Message]> {
    const waiting = this.#waiting.get(peer.toString())
    this.#waiting.delete(peer.toString())
    return waiting ?? []
  }
}

/** The call of one of our messages. */
function callIn (message: unknown): Call<unknown> | undefined {
  return typeof message === 'object' && message !== null && 'call' in message && message.call instanceof Call ? message.call : undefined
}
