/**
 * A behaviour behind a switch (S7.14). Off, its gates let everybody pass, its handlers do as S4.14 says, and nothing that it
 * wants is done: what somebody may wait for fails at once, and says so to the behaviour; the rest waits until it is on. What
 * it is told stays right: of a connection it hears from its commit to `connection-closed` or rollback, and of the node always.
 */

import { BoundedQueue } from '../core/bounded-queue.ts'
import { PENDING } from '../core/poll.ts'
import { toError } from '../core/to-error.ts'
import { AbortError } from '../errors.ts'
import { ConnectionDenied, isDenial, placed } from './connection-denied.ts'
import { refusedWhileOff } from './disabled.ts'
import { unionOf } from './except.ts'
import { isLater } from './joint-check.ts'
import { isPending } from './network-behaviour.ts'
import { ToggledHandler } from './toggled-handler.ts'
import { BehaviourWrapper } from './wrapper.ts'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { ConnectionId } from '../core/ids.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { Check, Denied } from './connection-denied.ts'
import type { AnyHandler } from './connection-handler.ts'
import type { ConnectionEstablished, FromSwarm } from './from-swarm.ts'
import type { Toggle } from './inference.ts'
import type { BehaviourSource, EstablishedConnection, PendingConnection } from './network-behaviour.ts'
import type { ToSwarm } from './to-swarm.ts'

/** Options of {@link toggle}. */
export interface ToggleOptions {
  /** Whether it is on at first. @default true */
  enabled?: boolean | undefined
}

/**
 * A behaviour that may be switched off and on, at any time, on live connections too.
 *
 * @param inner - a behaviour, or a function of the node's components that makes one
 * @param options - see {@link ToggleOptions}
 *
 * @example
 * const node = await createLibp2p(withSwarm(options, { behaviours: { chat: toggle(chat(), { enabled: false }) } }))
 * node.services.swarm.behaviours.chat.enable()
 * await node.services.swarm.behaviours.chat.inner.say(peer, 'hello')
 */
export function toggle<Inner extends BehaviourSource> (inner: Inner, options: ToggleOptions = {}): Toggle<Inner> {
  return new ToggledBehaviour(inner, options.enabled ?? true) as unknown as Toggle<Inner>
}

/** What the inner behaviour wants while it is off; it is not asked for more until it is on. */
const MAX_HELD = 1024

const NO_NAMES: readonly string[] = Object.freeze([])

/**
 * One connection, and how far the inner behaviour is with it: `apart`, it was never asked; `asked`, its check is awaited;
 * `checked`, it may commit; `member`, it has committed; `denied`, it has not, and the connection is about to end.
 */
interface LiveConnection {
  readonly connection: EstablishedConnection
  /** Undefined: the inner behaviour takes no part. */
  readonly handler: ToggledHandler | undefined
  state: 'apart' | 'asked' | 'checked' | 'member' | 'denied'
  established: ConnectionEstablished | undefined
}

class ToggledBehaviour extends BehaviourWrapper {
  #isOn: boolean
  /** Attempts that the inner behaviour committed. */
  readonly #pending = new Map<ConnectionId, PendingConnection>()
  readonly #live = new Map<ConnectionId, LiveConnection>()
  /** Connections on which the inner behaviour has no handler. */
  readonly #absent = new Set<ConnectionId>()
  /** Bounded by the connections: each gives two at most whenever it is switched on. */
  readonly #outputs: BoundedQueue<ToSwarm<unknown, unknown>> = new BoundedQueue(Infinity)
  /** What it wanted while it was off, and nobody waits for. */
  readonly #held: BoundedQueue<ToSwarm<unknown, unknown>> = new BoundedQueue(MAX_HELD)
  /** There may be connections that wait for the inner behaviour. */
  #isBehind = false

  constructor (inner: BehaviourSource, isOn: boolean) {
    super(inner)
    this.#isOn = isOn
  }

  get enabled (): boolean {
    return this.#isOn
  }

  enable (): void {
    if (!this.#isOn) {
      this.#isOn = true
      this.#isBehind = true
      this.#eachMember((handler) => { handler.enable() })
      this.wake()
    }
  }

  disable (): void {
    if (this.#isOn) {
      this.#isOn = false
      this.#eachMember((handler) => { handler.disable() })
      this.wake()
    }
  }

  override get protocols (): readonly string[] {
    return this.#isOn ? super.protocols : NO_NAMES
  }

  override checkPending (attempt: PendingConnection): Check<Error> {
    return this.#isOn ? super.checkPending(attempt) : undefined
  }

  override commitPending (attempt: PendingConnection): Denied<Error> {
    const denied = this.#isOn ? super.commitPending(attempt) : undefined
    if (this.#isOn && denied === undefined) {
      this.#pending.set(attempt.id, attempt)
    }
    return denied
  }

  override addressesForDial (attempt: PendingConnection): readonly Multiaddr[] {
    return this.#isOn ? super.addressesForDial(attempt) : []
  }

  override checkEstablished (connection: EstablishedConnection): Check<Error> {
    return this.#isOn ? super.checkEstablished(connection) : undefined
  }

  override commitEstablished (connection: EstablishedConnection): AnyHandler | Denied<Error> {
    const { id } = connection
    if (!this.#isOn) {
      const handler = new ToggledHandler(connection)
      this.#live.set(id, { connection, handler, state: 'apart', established: undefined })
      this.#absent.add(id)
      return toHandler(handler)
    }
    const inner = super.commitEstablished(connection)
    if (isDenial(inner)) {
      return inner
    }
    const handler = inner === undefined ? undefined : new ToggledHandler(connection, inner)
    this.#live.set(id, { connection, handler, state: 'member', established: undefined })
    return handler === undefined ? undefined : toHandler(handler)
  }

  override rollback (attempt: PendingConnection | EstablishedConnection, cause: unknown): void {
    const isCommitted = isPending(attempt) ? this.#pending.delete(attempt.id) : this.#leave(attempt.id)
    if (isCommitted) {
      super.rollback(attempt, cause)
    }
  }

  override onSwarmEvent (event: FromSwarm): void {
    if (event.type === 'connection-established') {
      if (!this.#established(event)) {
        return
      }
    } else if (event.type === 'connection-closed' && !this.#leave(event.connection)) {
      return
    }
    super.onSwarmEvent(event)
  }

  override poll (cx: PollContext): Poll<ToSwarm<unknown, unknown>> {
    this.follow(cx)
    if (this.#isOn && this.#isBehind) {
      this.#catchUp()
    }
    const own = this.#outputs.shift()
    if (own !== undefined) {
      return own
    }
    const output = this.#isOn ? this.#held.shift() ?? super.poll(cx) : this.#pollOff(cx)
    return output !== PENDING && output.type === 'notify-handler' ? { ...output, except: unionOf(this.#absent, output.except) } : output
  }

  /** Its own deadlines go on, and so do its commands, as far as failing. */
  #pollOff (cx: PollContext): Poll<ToSwarm<unknown, unknown>> {
    for (let left = MAX_HELD; left > 0 && this.#held.size < MAX_HELD; left--) {
      const wish = super.poll(cx)
      if (wish === PENDING || wish.type === 'behaviour-fault' || wish.type === 'await-check') {
        return wish
      }
      const answer = refusedWhileOff(wish)
      if (answer === undefined) {
        this.#held.push(wish)
      } else {
        super.onSwarmEvent(answer)
      }
    }
    return PENDING
  }

  protected override commands (inner: object): object {
    const enable = (): void => { this.enable() }
    const disable = (): void => { this.disable() }
    const commands = { inner, enable, disable }
    return Object.freeze(Object.defineProperty(commands, 'enabled', { enumerable: true, get: () => this.enabled }))
  }

  #eachMember (change: (handler: ToggledHandler) => void): void {
    for (const { state, handler } of this.#live.values()) {
      if (state === 'member' && handler !== undefined) {
        change(handler)
      }
    }
  }

  /** Whether the inner behaviour is to hear of it now; the others hear of it when they join. */
  #established (event: ConnectionEstablished): boolean {
    const live = this.#live.get(event.connection)
    const pending = this.#pending.get(event.connection)
    this.#pending.delete(event.connection)
    if (live?.state === 'member') {
      live.established = event
      return true
    }
    if (live !== undefined) {
      live.established = event
    }
    if (pending !== undefined) {
      // Switched off in between: to the inner behaviour that attempt came to nothing.
      super.rollback(pending, new AbortError('The behaviour was disabled'))
    }
    return false
  }

  /** The connection is gone; true if the inner behaviour had committed it. */
  #leave (id: ConnectionId): boolean {
    const live = this.#live.get(id)
    this.#live.delete(id)
    this.#absent.delete(id)
    return live?.state === 'member'
  }

  /** Lets the inner behaviour in on the connections that were made without it. */
  #catchUp (): void {
    this.#isBehind = false
    for (const live of this.#live.values()) {
      if (live.state === 'apart') {
        this.#ask(live)
      } else if (live.state === 'checked') {
        this.#join(live)
      }
    }
  }

  #ask (live: LiveConnection): void {
    const check = this.#guard('checkEstablished', () => super.checkEstablished(live.connection))
    if (isLater(check)) {
      live.state = 'asked'
      this.#outputs.push({ type: 'await-check', check, settle: (denied) => { this.#settle(live, denied) } })
    } else if (check === undefined) {
      this.#join(live)
    } else {
      this.#deny(live, check)
    }
  }

  /** The verdict on a connection comes late: switched off meanwhile, it has to be asked again. */
  #settle (live: LiveConnection, denied: Denied<Error>): void {
    if (!this.#isOn) {
      live.state = 'apart'
    } else if (denied === undefined) {
      live.state = 'checked'
    } else if (this.#live.get(live.connection.id) === live) {
      this.#deny(live, denied)
    }
    this.#isBehind = true
    this.wake()
  }

  #join (live: LiveConnection): void {
    const { connection, handler, established } = live
    const inner = this.#guard('commitEstablished', () => super.commitEstablished(connection))
    if (isDenial(inner)) {
      this.#deny(live, inner)
      return
    }
    live.state = 'member'
    handler?.join(inner)
    if (inner !== undefined) {
      this.#absent.delete(connection.id)
    }
    if (established !== undefined) {
      this.#guard('onSwarmEvent', () => { super.onSwarmEvent(established) })
    }
  }

  #deny (live: LiveConnection, denied: ConnectionDenied): void {
    const { id, peer, direction } = live.connection
    live.state = 'denied'
    const abort = placed(denied, { behaviour: denied.behaviour, stage: 'established', direction })
    this.#outputs.push({ type: 'close-connection', peer, connection: id, abort })
  }

  /** A gate that throws denies, here as elsewhere. */
  #guard<Answer> (method: string, ask: () => Answer): Answer | ConnectionDenied {
    try {
      return ask()
    } catch (cause) {
      this.#outputs.push({ type: 'behaviour-fault', behaviour: '', method, cause })
      return new ConnectionDenied(toError(cause))
    }
  }
}

/** What a wrapper hands on is known to its author and to the behaviour inside. */
function toHandler (handler: ToggledHandler): AnyHandler {
  return handler as unknown as AnyHandler
}
