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
  protocols (side: 'local' | 'remote'): { has (name: string): boolean } | undefined
  /** A notice came. */
  noticed (handler: SimulatedHandler): void
}

/** A handler that does what a script says, and checks what it is told against what it did. */
export class SimulatedHandler implements ConnectionHandler<number, number, number, string, VirtualStream> {
  listing: readonly string[]
  isKeepAlive = false
  /** Its next call throws. */
  throwsIn: Thrower | undefined
  /** Polls in which it only asks for the next turn. */
  dawdles = 0
  /** It threw where that ends the connection. */
  hasFailed = false
  /** Those of them that the peer opened. */
  readonly inbound: VirtualStream[] = []
  /** When the last of its lazy requests must have been agreed to. */
  lazyUntil = -Infinity
  /** Streams that it was given. */
  readonly streams: VirtualStream[] = []
  /** Outcomes of each request that it made, by its `info`. */
  readonly outcomes = new Map<number, number>()
  /** Values that `poll` gave for its behaviour. */
  readonly emitted: number[] = []
  readonly told: number[] = []
  /** Inbound streams that were agreed and have no outcome. */
  upgrading = 0
  /** What the notices add up to. */
  readonly known = { local: new Set<string>(), remote: new Set<string>() }
  readonly outbox: Output[] = []
  /** Told what it reports of the peer. */
  onReport: ((change: 'added' | 'removed' | 'replaced', names: readonly string[]) => void) | undefined
  readonly #name: string
  readonly #world: SimulatedWorld
  readonly #everListed = new Set<string>()
  readonly #everAnnounced = new Set<string>()
  /** Requests that must get their streams in order: one name, no upgrade. */
  readonly #plain = new Map<number, string>()
  readonly #lastOf = new Map<string, number>()
  #cx: PollContext | undefined
  #isDone = false

  constructor (name: string, listing: readonly string[], world: SimulatedWorld) {
    this.#name = name
    this.listing = listing
    this.#world = world
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
  requestLazily (protocols: readonly string[], timeoutMs: number, now: number): void {
    this.lazyUntil = Math.max(this.lazyUntil, now + timeoutMs)
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

  listenProtocols (): readonly string[] {
    this.#call('listenProtocols')
    for (const name of this.listing) {
      this.#everListed.add(name)
    }
    return this.listing
  }

  keepAlive (): boolean {
    this.#call('keepAlive')
    return this.isKeepAlive
  }

  inboundInfo (protocol: string): number {
    this.upgrading++
    this.#call('inboundInfo', false)
    this.#checkOwned(protocol)
    return -1
  }

  inboundUpgrade (_stream: VirtualStream, protocol: string): StreamUpgrade<string> {
    this.#checkOwned(protocol)
    return upgradeOf(protocol === '/d' ? 'later' : protocol === '/e' ? 'broken' : 'now')
  }

  poll (cx: PollContext): Poll<Output> {
    this.#cx = cx
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
        break
      case 'notify-behaviour':
        this.emitted.push(output.event)
        break
      case 'report-remote-protocols':
        this.onReport?.(output.change, output.protocols)
        break
      case 'cancel-outbound-request':
    }
    return output
  }

  onConnectionEvent (event: Event): void {
    const isOfStream = event.type === 'fully-negotiated-inbound' || event.type === 'fully-negotiated-outbound'
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
    this.told.push(event)
    this.#call('onBehaviourEvent')
  }

  /** Its last events, as `poll` would have given them. */
  pollLast (cx: PollContext): Poll<number | undefined> {
    this.#check(!this.#isDone, 'was polled after it had ended')
    this.#call('pollClose')
    this.dawdles = 0
    for (let output = this.poll(cx); output !== PENDING; output = this.poll(cx)) {
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
      this.#check(now === undefined || now.has(name) === isAdded, `was told that ${name} was ${type} before it was so (${side})`)
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

  #check (holds: boolean, otherwise: string): void {
    if (!holds) {
      this.#world.broken(`${this.#name} ${otherwise}`)
    }
  }

  #call (method: Thrower, isFatal: boolean = true): void {
    this.#check(!this.hasFailed, `was called (${method}) after it had thrown`)
    if (this.throwsIn === method) {
      this.throwsIn = undefined
      this.hasFailed ||= isFatal
      throw new Error(`${this.#name} throws in ${method}`)
    }
  }
}

/** The same handler for a connection that asks it for its last events. */
export class ClosingHandler extends SimulatedHandler {
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
