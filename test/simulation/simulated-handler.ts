import { PENDING } from '../../src/core/poll.ts'
import type { Poll, PollContext } from '../../src/core/poll.ts'
import type { ConnectionEvent, ConnectionHandler, HandlerOutput } from '../../src/handler/connection-handler.ts'
import type { StreamUpgrade } from '../../src/handler/stream-upgrade.ts'
import type { VirtualStream } from '../../src/testing/index.ts'
import type { THROWERS } from './script.ts'

/** A method that may throw. */
export type Thrower = typeof THROWERS[number]

type Output = HandlerOutput<number, number, string, VirtualStream>
type Event = ConnectionEvent<number, string, VirtualStream>

/** What a handler asks the world it is in. */
export interface SimulatedWorld {
  /** Something does not hold. */
  broken (what: string): void
  /** Numbers of one run, each given once. */
  nextId (): number
  /** What the connection says of one side; undefined while it is made. */
  protocols (side: 'local' | 'remote'): { has (name: string): boolean, toArray (): readonly string[] } | undefined
  /** It reports names of the peer. */
  reported (handler: SimulatedHandler, change: 'added' | 'removed' | 'replaced', names: readonly string[]): void
  /** A notice came. */
  noticed (handler: SimulatedHandler): void
}

/** What all handlers that had one place in the composition gave and got, in order. */
export interface PlaceLog {
  /** Values that `poll` gave for the behaviour. */
  readonly emitted: number[]
  readonly told: number[]
}

/** A handler that does what a script says, and checks what it is told against what it did. */
export class SimulatedHandler implements ConnectionHandler<number, number, number, string, VirtualStream> {
  listing: readonly string[]
  isKeepAlive = false
  /** Its next call throws. */
  throwsIn: Thrower | undefined
  /** Polls in which it only asks for the next turn. */
  dawdles = 0
  /** Its next call of that method first does something to its composition. */
  acts: { readonly method: Thrower, act (): void } | undefined
  /** It threw where that ends the connection. */
  hasFailed = false
  /** It was removed from its composition while the connection was open. */
  hasLeft = false
  /** What it is wrapped in is switched off. */
  isOff = false
  /** Switched on since its last poll: it may hear of older changes late, of which only the sum is right. */
  isBehind = false
  /** Those of them that the peer opened. */
  readonly inbound: VirtualStream[] = []
  /** When the last of its lazy requests must have been agreed to. */
  lazyUntil = -Infinity
  /** Streams that it was given. */
  readonly streams: VirtualStream[] = []
  /** Outcomes of each request that it made, by its `info`. */
  readonly outcomes = new Map<number, number>()
  /** Inbound streams that were agreed and have no outcome. */
  upgrading = 0
  /** What the notices add up to. */
  readonly known = { local: new Set<string>(), remote: new Set<string>() }
  readonly outbox: Output[] = []
  readonly #name: string
  readonly #world: SimulatedWorld
  readonly #log: PlaceLog
  /** It came to a connection that was there, and must first be told what the others know. */
  #isToBeGreeted: boolean
  readonly #everListed = new Set<string>()
  readonly #everAnnounced = new Set<string>()
  /** Requests that must get their streams in order: one name, no upgrade. */
  readonly #plain = new Map<number, string>()
  readonly #lastOf = new Map<string, number>()
  #cx: PollContext | undefined
  #isDone = false

  constructor (name: string, listing: readonly string[], world: SimulatedWorld, log: PlaceLog, isToBeGreeted: boolean) {
    this.#name = name
    this.listing = listing
    this.#world = world
    this.#log = log
    this.#isToBeGreeted = isToBeGreeted
  }

  /** Whether it takes part: it is in its composition and not switched off. */
  get isLive (): boolean {
    return !this.hasLeft && !this.isOff
  }

  /** Requests without an outcome. */
  get waiting (): number {
    return [...this.outcomes.values()].filter(times => times === 0).length
  }

  /** Streams that are open in at least one direction. */
  get openStreams (): number {
    return this.streams.filter(stream => !stream.isClosed && stream.resetBy === undefined).length
  }

  /** Whether it ever listed `name`. */
  hasListed (name: string): boolean {
    return this.#everListed.has(name)
  }

  push (...outputs: Output[]): void {
    this.outbox.push(...outputs)
    this.#cx?.wake()
  }

  wake (): void {
    this.#cx?.wake()
  }

  /** Asks for a stream that may be used before the peer agreed. */
  requestLazily (protocols: readonly string[], timeoutMs: number): void {
    this.push({ type: 'outbound-stream-request', protocols, timeoutMs, info: this.#world.nextId(), token: 'any', lazy: true })
  }

  request (protocols: readonly string[], timeoutMs: number, upgrade?: 'later' | 'broken'): void {
    const info = this.#world.nextId()
    if (upgrade === undefined && protocols.length === 1) {
      this.#plain.set(info, protocols[0] ?? '')
    }
    this.push({
      type: 'outbound-stream-request', protocols, timeoutMs, info, token: 'any',
      ...upgrade === undefined ? {} : { upgrade: () => upgradeOf(upgrade) }
    })
  }

  /** It was removed while the connection was open: of its inbound streams only those that it has are left. */
  leave (): void {
    this.hasLeft = true
    this.upgrading = 0
  }

  listenProtocols (): readonly string[] {
    this.#checkLive('listenProtocols')
    this.#call('listenProtocols')
    for (const name of this.listing) {
      this.#everListed.add(name)
    }
    return this.listing
  }

  keepAlive (): boolean {
    this.#checkLive('keepAlive')
    this.#call('keepAlive')
    return this.isKeepAlive
  }

  inboundInfo (protocol: string): number {
    this.checkIn('inboundInfo')
    this.upgrading++
    this.#call('inboundInfo', false)
    this.#checkOwned(protocol)
    return -1
  }

  inboundUpgrade (_stream: VirtualStream, protocol: string): StreamUpgrade<string> {
    this.checkIn('inboundUpgrade')
    this.#checkOwned(protocol)
    return upgradeOf(protocol === '/d' ? 'later' : protocol === '/e' ? 'broken' : 'now')
  }

  /** After it left: its last words, of which PENDING is the end. */
  poll (cx: PollContext): Poll<Output> {
    // One that removed itself while it caught up is polled once more before its last word.
    const hasLeft = this.hasLeft && !this.isBehind
    this.#check(!this.#isDone, 'was polled after its last word')
    if (!this.hasLeft) {
      this.#checkLive('poll')
    }
    const output = this.next(cx)
    this.#isDone ||= hasLeft && output === PENDING
    return output
  }

  protected next (cx: PollContext): Poll<Output> {
    this.#cx = cx
    this.isBehind = false
    this.#call('poll')
    if (this.dawdles > 0) {
      this.dawdles--
      cx.wake()
      return PENDING
    }
    const output = this.outbox.shift()
    switch (output?.type) {
      case undefined:
        return PENDING
      case 'outbound-stream-request':
        this.outcomes.set(output.info, 0)
        // Its time runs from here; it may have waited behind a switch.
        if (output.lazy === true) {
          this.lazyUntil = Math.max(this.lazyUntil, cx.now + (output.timeoutMs ?? 0))
        }
        break
      case 'notify-behaviour':
        this.#log.emitted.push(output.event)
        break
      case 'report-remote-protocols':
        this.#world.reported(this, output.change, output.protocols)
        break
      case 'cancel-outbound-request':
    }
    return output
  }

  onConnectionEvent (event: Event): void {
    const isOfStream = event.type === 'fully-negotiated-inbound' || event.type === 'fully-negotiated-outbound'
    if (event.type === 'local-protocols-change' || event.type === 'remote-protocols-change') {
      // One that removes itself while it catches up behind its switch hears the rest of that.
      if (!this.isBehind) {
        this.checkIn(event.type)
      }
      this.#check(!this.isOff, `was told of a ${event.type} while it was switched off`)
    } else if (event.type !== 'dial-upgrade-error') {
      this.#checkLive(event.type)
    }
    switch (event.type) {
      case 'fully-negotiated-inbound':
        this.upgrading--
        this.#checkOwned(event.protocol)
        this.streams.push(event.stream)
        this.inbound.push(event.stream)
        break
      case 'fully-negotiated-outbound':
        this.#settle(event.info)
        this.#checkOrder(event.info)
        this.#check(!event.lazy || this.lazyUntil > -Infinity, `got a lazy stream that it did not ask for (request ${event.info})`)
        this.#check(!event.lazy || this.#everAnnounced.has(event.protocol), `got a lazy stream on ${event.protocol}, which was never announced (S2.24)`)
        this.streams.push(event.stream)
        break
      case 'dial-upgrade-error':
        this.#settle(event.info)
        break
      case 'local-protocols-change':
        this.#fold('local', event.change.type, [...event.change.protocols])
        break
      case 'remote-protocols-change':
        this.#fold('remote', event.change.type, [...event.change.protocols])
        break
      case 'listen-upgrade-error':
        this.upgrading--
        this.#checkOwned(event.protocol)
        break
      case 'address-change':
    }
    this.#call('onConnectionEvent', !isOfStream)
  }

  onBehaviourEvent (event: number): void {
    this.#checkLive('onBehaviourEvent')
    this.#log.told.push(event)
    this.#call('onBehaviourEvent')
  }

  /** Its last events, as `poll` would have given them. */
  pollLast (cx: PollContext): Poll<number | undefined> {
    this.#check(!this.#isDone, 'was polled after it had ended')
    this.#call('pollClose')
    this.dawdles = 0
    for (let output = this.next(cx); output !== PENDING; output = this.next(cx)) {
      if (output.type === 'notify-behaviour') {
        return output.event
      }
      // A request that nobody hears any more was not made.
      if (output.type === 'outbound-stream-request') {
        this.outcomes.delete(output.info)
      }
    }
    this.#isDone = true
    return undefined
  }

  #fold (side: 'local' | 'remote', type: 'added' | 'removed', names: readonly string[]): void {
    const known = this.known[side]
    const isAdded = type === 'added'
    this.#check(names.length > 0, `got an empty ${side} notice`)
    const now = this.#world.protocols(side)
    for (const name of names) {
      this.#check(known.has(name) !== isAdded, `was told twice that ${name} was ${type} (${side})`)
      this.#check(now === undefined || this.isBehind || now.has(name) === isAdded, `was told that ${name} was ${type} before it was so (${side})`)
      known[isAdded ? 'add' : 'delete'](name)
      if (side === 'remote') {
        this.#everAnnounced.add(name)
      }
    }
    this.#world.noticed(this)
  }

  #settle (info: number): void {
    const times = this.outcomes.get(info)
    this.#check(times === 0, `got an outcome of request ${info}, which has ${times ?? 'no'}`)
    this.outcomes.set(info, 1)
  }

  #checkOrder (info: number): void {
    const name = this.#plain.get(info)
    if (name !== undefined) {
      const last = this.#lastOf.get(name) ?? -1
      this.#check(last < info, `got the stream of request ${info} after that of ${last}`)
      this.#lastOf.set(name, info)
    }
  }

  #checkOwned (protocol: string): void {
    this.#check(this.#everListed.has(protocol), `got a stream on ${protocol}, which it never listed`)
  }

  /** It is still in its composition. */
  protected checkIn (method: string): void {
    if (this.hasLeft) {
      this.#world.broken(`${this.#name} was called (${method}) after it was removed (S4.13)`)
    }
  }

  /** It takes part, and knows what the others know since it came (S3.13). */
  #checkLive (method: string): void {
    this.checkIn(method)
    if (this.isOff) {
      this.#world.broken(`${this.#name} was called (${method}) while it was switched off (S4.14)`)
    }
    if (this.#isToBeGreeted) {
      this.#isToBeGreeted = false
      for (const side of ['local', 'remote'] as const) {
        const names = this.#world.protocols(side)?.toArray() ?? []
        this.#check(names.length === this.known[side].size && names.every(name => this.known[side].has(name)), `was called (${method}) before it knew the ${side} names (S3.13)`)
      }
    }
  }

  #check (holds: boolean, otherwise: string): void {
    if (!holds) {
      this.#world.broken(`${this.#name} ${otherwise}`)
    }
  }

  #call (method: Thrower, isFatal: boolean = true): void {
    if (this.hasFailed) {
      this.#world.broken(`${this.#name} was called (${method}) after it had thrown`)
    }
    const { acts } = this
    if (acts?.method === method) {
      this.acts = undefined
      acts.act()
    }
    if (this.throwsIn === method) {
      this.throwsIn = undefined
      this.hasFailed ||= isFatal
      throw new Error(`${this.#name} throws in ${method}`)
    }
  }
}

/** The same handler for a connection that asks it for its last events. */
export class ClosingHandler extends SimulatedHandler {
  override poll (cx: PollContext): Poll<Output> {
    this.checkIn('poll')
    return super.poll(cx)
  }

  pollClose (cx: PollContext): Poll<number | undefined> {
    return this.pollLast(cx)
  }
}

function upgradeOf (kind: 'now' | 'later' | 'broken'): StreamUpgrade<string> {
  let left = kind === 'later' ? 2 : 0
  return {
    poll (cx) {
      if (kind === 'broken') {
        throw new Error('an upgrade throws')
      }
      if (left-- > 0) {
        cx.wakeAt(cx.now + 3)
        return PENDING
      }
      return 'output'
    }
  }
}
