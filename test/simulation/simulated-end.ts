import { brokenProtocolRule } from '../../src/protocols/stream-protocol.ts'
import { wire } from '../support/wire.ts'
import { SimulatedParts, otherThan } from './simulated-parts.ts'
import type { AnyHandler } from '../../src/handler/connection-handler.ts'
import type { ConnectionInit } from '../../src/connection/connection-config.ts'
import type { PairEnd, VirtualStream } from '../../src/testing/index.ts'
import type { SimulatedHandler, Thrower } from './simulated-handler.ts'
import type { Place } from './simulated-parts.ts'
import type { Step } from './script.ts'

/** Limits so small that scripts meet them. */
export const LIMITS = {
  outboundTimeoutMs: 50, inboundTimeoutMs: 60, closeTimeoutMs: 40, maxHandlerEventsPerTurn: 4, maxQueuedBehaviourEvents: 4,
  maxQueuedOutboundRequests: 4, maxNegotiatingOutboundStreams: 3, maxNegotiatingInboundStreams: 2, maxQueuedInboundStreams: 2,
  maxOpenInboundStreams: 6, inboundStreamsPerSecond: 300, inboundStreamBurst: 8, maxInboundStreamsPerProtocol: 3, maxOutboundStreamsPerProtocol: 4,
  maxFramesPerTurn: 2, maxRemoteProtocols: 3, maxLocalProtocols: 64, remoteReportsPerSecond: 50
} as const satisfies ConnectionInit

/** What nobody lists, and how it is answered. */
const PROPOSAL = '032f7a0a'
const REFUSAL_BYTES = wire('NA').length
/** The header of the answer has the length of so many refusals. */
const HEADER_REFUSALS = Math.ceil(wire('HDR').length / REFUSAL_BYTES) - 1

/** The sources of remote reports. */
type Source = SimulatedHandler | 'host'

type Change = 'added' | 'removed' | 'replaced'

/** One end of the pair: its parts, a model of what its connection has to be like, and the comparison of both. */
export class SimulatedEnd {
  readonly name: Step['end']
  readonly parts: SimulatedParts
  readonly #broken: (what: string) => void
  readonly #idleTimeoutMs: number
  readonly #reported = new Map<Source, Set<string>>()
  /** Behaviour events that the connection took. */
  readonly #accepted: number[] = []
  #end: PairEnd | undefined
  #far: SimulatedEnd | undefined
  #hostRequests = 0
  /** The last report of the host that waits, and when one may be applied. */
  #waitingReport: readonly string[] | undefined
  #nextReportAt = -Infinity
  /** Streams with many frames, which this end is to answer in shares. */
  readonly #frames: Array<{ readonly stream: VirtualStream, readonly turns: number }> = []
  #flooded: { readonly notice: SimulatedHandler, readonly at: number } | undefined
  #closingSince: number | undefined

  constructor (name: Step['end'], idleTimeoutMs: number, nextId: () => number, broken: (what: string) => void) {
    this.name = name
    this.#idleTimeoutMs = idleTimeoutMs
    this.#broken = what => { broken(`${name}: ${what}`) }
    const world = {
      nextId,
      broken: this.#broken,
      protocols: (side: 'local' | 'remote') => this.#end?.connection[`${side}Protocols`],
      noticed: (handler: SimulatedHandler) => { this.#noticed(handler) },
      reported: (handler: SimulatedHandler, change: Change, names: readonly string[]) => { this.#report(handler, change, names) },
      isOpen: () => this.#end?.connection.status.phase === 'open',
      // What a part floods is counted as long as the same parts are there.
      changed: () => { this.#flooded = undefined }
    }
    this.parts = new SimulatedParts(world)
  }

  /** The parts, one inside a composition of its own. */
  get handler (): AnyHandler {
    return this.parts.root
  }

  get pair (): PairEnd {
    if (this.#end === undefined) {
      throw new Error('Cannot reach the connection: it is not made yet')
    }
    return this.#end
  }

  meet (end: PairEnd, far: SimulatedEnd): void {
    this.#end = end
    this.#far = far
  }

  /** Whether any part ever listed `name`. */
  hasListed (name: string): boolean {
    return this.parts.all.some(part => part.hasListed(name))
  }

  /** Tells a part something, and takes note of what was accepted. */
  tell (part: Place, id: number): void {
    const event = part === 'left' ? { handler: 'left', event: id } : { handler: 'inner', event: { handler: 'right', event: id } }
    if (this.pair.connection.onBehaviourEvent(event)) {
      this.#accepted.push(id)
    }
  }

  /** The host learnt the protocols of the peer. */
  identify (names: readonly string[], now: number): void {
    if (this.pair.connection.status.phase === 'open') {
      this.#nextReportAt = Math.max(this.#nextReportAt, this.#waitingReport === undefined ? now : -Infinity)
      this.#waitingReport = names
      this.#applyReport(now)
    }
    this.pair.connection.handleRemoteReport('replaced', names)
  }

  /** The host asks for a stream. */
  requestForHost (protocols: readonly string[], token: number, now: number): void {
    if (this.pair.connection.status.phase === 'open') {
      this.#hostRequests++
      this.pair.connection.requestHostStream({ protocols, token, timeoutMs: 30 }, now)
    }
  }

  /** Sends proposals of names that nobody has, all at once. */
  sendFrames (count: number, victim: SimulatedEnd): void {
    const stream = this.pair.openRaw()
    stream.send(wire(`HDR ${Array.from({ length: count }, () => PROPOSAL).join(' ')}`))
    victim.#frames.push({ stream, turns: victim.pair.turns })
  }

  throwIn (place: Place, method: Thrower): void {
    const part = this.parts.in(place)
    part.throwsIn = method
    part.wake()
  }

  /** One part floods while the other lists something else: that must be noticed soon (S5.2, S10.10). */
  flood (place: Place, ids: readonly number[]): void {
    const other = this.parts.in(otherThan(place))
    if (this.parts.live.length < 2) {
      return
    }
    this.parts.in(place).push(...ids.map(event => ({ type: 'notify-behaviour', event } as const)))
    other.listing = [`/flood/${ids[0] ?? 0}`]
    other.wake()
    this.#flooded = { notice: other, at: this.pair.outputs.length }
  }

  /** What must hold whenever nothing moves. */
  check (now: number): void {
    const { connection, wakes, turns, pending } = this.pair
    this.#check(wakes <= turns + 1, `asked ${wakes} times for ${turns} turns (S10.20)`)
    this.#checkFifo()
    this.#applyReport(now)
    this.#checkFrames()
    this.#checkLazy(now)
    const { status } = connection
    switch (status.phase) {
      case 'open':
        this.#check(this.parts.all.every(({ hasFailed }) => !hasFailed), 'is open after a part threw (S4.15)')
        this.#check(this.parts.live.every(({ outbox }) => outbox.length === 0), 'a part waits for unrelated traffic (S10.20)')
        this.#check(this.parts.all.every(({ isLive, waiting }) => isLive || waiting === 0), 'a part that was removed or switched off waits for an outcome (S4.13, S4.14)')
        this.#checkSets()
        this.#checkCaps()
        this.#checkAgreed()
        this.#checkKeepAlive(now, pending.waiting + pending.negotiating)
        break
      case 'closing':
        this.#closingSince ??= now
        this.#check(now <= this.#closingSince + LIMITS.closeTimeoutMs, 'did not close in time (S10.14)')
        break
      case 'closed':
        this.checkEnd()
    }
  }

  /** What must hold after the end (S10.14, S10.15). */
  checkEnd (): void {
    const { connection, outputs } = this.pair
    const closed = outputs.at(-1)
    this.#check(connection.status.phase === 'closed', `is ${connection.status.phase} at the end`)
    this.#check(closed?.type === 'closed' && outputs.filter(({ type }) => type === 'closed').length === 1, 'the last output is not the only closed one')
    this.#check([...connection.streams].length === 0 && connection.pollTimeout() === Infinity, 'has streams or a deadline after its end')
    for (const { hasFailed, waiting } of this.parts.all) {
      this.#check(hasFailed || waiting === 0, `a part has ${waiting} requests without an outcome (S10.6)`)
    }
    this.#checkMessages(closed?.type === 'closed' ? closed.undelivered : [])
    this.#check(this.#hostOutcomes() === this.#hostRequests, 'a request of the host has no outcome (S10.6)')
  }

  /** Each message came to its part, or came back (S10.15). */
  #checkMessages (undelivered: readonly unknown[]): void {
    const { left, right } = this.parts.logs
    for (const { told } of [left, right]) {
      this.#check(told.every((id, index) => index === 0 || id > (told[index - 1] ?? 0)), 'a part got its behaviour events in another order (S10.15)')
    }
    const returned = this.pair.outputs.flatMap(output => output.type === 'handler-notified' ? [output.event] : [])
    const ids = [...left.told, ...right.told, ...[...undelivered, ...returned].map(idOf)].sort((a, b) => a - b)
    this.#check(this.parts.all.some(({ hasFailed }) => hasFailed) || ids.join() === this.#accepted.join(), 'lost a behaviour event (S10.15)')
  }

  #checkSets (): void {
    const { localProtocols, remoteProtocols } = this.pair.connection
    const { live } = this.parts
    const local = new Set<string>()
    for (const { listing } of live) {
      for (const name of listing) {
        if (brokenProtocolRule(name, 1023) === undefined) {
          local.add(name)
        }
      }
    }
    const remote = new Set<string>()
    for (const [source, names] of this.#reported) {
      if (source === 'host' || !source.hasLeft) {
        names.forEach(name => { remote.add(name) })
      }
    }
    for (const { known } of live) {
      this.#checkSame('local notices', known.local, local)
      this.#checkSame('remote notices', known.remote, remote)
    }
    this.#checkSame('local set', localProtocols.toArray(), local)
    this.#checkSame('remote set', remoteProtocols.toArray(), remote)
  }

  #checkSame (what: string, seen: Iterable<string>, expected: ReadonlySet<string>): void {
    const names = [...seen]
    if (names.length !== expected.size || !names.every(name => expected.has(name))) {
      this.#broken(`${what}: ${names.join()}, expected ${[...expected].join()}`)
    }
  }

  #checkCaps (): void {
    const { pending: { waiting, negotiating, inbound }, inboundStreams } = this.pair
    this.#check(inbound <= LIMITS.maxNegotiatingInboundStreams, `${inbound} inbound streams negotiate (S10.12)`)
    this.#check(negotiating - inbound <= LIMITS.maxNegotiatingOutboundStreams, `${negotiating - inbound} outbound streams negotiate (S10.12)`)
    this.#check(waiting <= LIMITS.maxQueuedInboundStreams, `${waiting} streams wait (S10.12)`)
    this.#check(waiting === 0 || inbound === LIMITS.maxNegotiatingInboundStreams, `${waiting} streams wait, and only ${inbound} negotiate (S5.9)`)
    this.#check(inboundStreams.length <= LIMITS.maxOpenInboundStreams, `${inboundStreams.length} inbound streams are open (S10.12)`)
    this.#checkProtocol('inbound', LIMITS.maxInboundStreamsPerProtocol, ({ inbound }, stream) => inbound.includes(stream))
    this.#checkProtocol('outbound', LIMITS.maxOutboundStreamsPerProtocol, ({ inbound }, stream) => !inbound.includes(stream))
  }

  #checkProtocol (direction: string, limit: number, isMeant: (part: SimulatedHandler, stream: VirtualStream) => boolean): void {
    const counts = new Map<string, number>()
    for (const part of this.parts.all) {
      for (const stream of part.streams) {
        if (!stream.isClosed && stream.resetBy === undefined && isMeant(part, stream)) {
          counts.set(stream.protocol, (counts.get(stream.protocol) ?? 0) + 1)
        }
      }
    }
    for (const [name, count] of counts) {
      this.#check(count <= limit, `${count} ${direction} streams of ${name} are open (S5.8)`)
    }
  }

  /** A stream with many frames gets its share of each turn, the header included (S2.34). */
  #checkFrames (): void {
    for (const { stream, turns } of this.#frames) {
      const answered = Math.ceil(stream.received.length / REFUSAL_BYTES)
      const share = Math.ceil((answered - HEADER_REFUSALS) / LIMITS.maxFramesPerTurn)
      this.#check(this.pair.turns - turns >= share, `answered ${answered} frames in ${this.pair.turns - turns} turns (S2.34)`)
    }
  }

  /** Streams that are used before the peer agreed have nothing of the peer, and end if it does not (S2.25, S2.28). */
  #checkLazy (now: number): void {
    const { unconfirmed } = this.pair
    this.#check(unconfirmed.every(({ received }) => received.length === 0), 'a byte came before the peer agreed (S2.25)')
    if (unconfirmed.length > 0 && this.parts.all.every(({ lazyUntil }) => now >= lazyUntil)) {
      this.#broken(`${unconfirmed.length} streams wait for ever (S2.28)`)
    }
  }

  /** Every stream in use was agreed to, or will be: the other end has listed its name (S2.26). */
  #checkAgreed (): void {
    const unconfirmed = new Set(this.pair.unconfirmed)
    for (const { streams, inbound } of this.parts.all) {
      for (const stream of streams) {
        const isOpen = !stream.isClosed && stream.resetBy === undefined && !inbound.includes(stream) && !unconfirmed.has(stream)
        this.#check(!isOpen || this.#far?.hasListed(stream.protocol) === true, `uses a stream on ${stream.protocol}, to which nobody agreed (S2.26)`)
      }
    }
  }

  /** The first report of the host at once, then the last one of each interval (S3.20). */
  #applyReport (now: number): void {
    const names = this.#waitingReport
    if (names !== undefined && now >= this.#nextReportAt) {
      this.#nextReportAt += 1000 / LIMITS.remoteReportsPerSecond
      this.#waitingReport = undefined
      this.#report('host', 'replaced', names)
    }
  }

  #checkKeepAlive (now: number, pending: number): void {
    const { status, streams } = this.pair.connection
    let requests = this.#hostRequests - this.#hostOutcomes()
    let open = this.#openHostStreams()
    let upgrading = 0
    for (const part of this.parts.all) {
      requests += part.waiting
      open += part.openStreams
      upgrading += part.upgrading
    }
    const isBusy = this.parts.live.some(({ isKeepAlive }) => isKeepAlive) || requests + pending + open + upgrading > 0
    this.#check([...streams].length === open, `counts ${[...streams].length} streams, of ${open}`)
    if (status.phase === 'open' && (status.activity === 'busy') !== isBusy) {
      this.#broken(`is ${status.activity} with ${requests} requests, ${pending} negotiations, ${open} streams (S10.13)`)
    }
    if (status.phase === 'open' && status.activity === 'idle') {
      this.#check(status.until === status.since + this.#idleTimeoutMs && now < status.until, `is idle at ${now} since ${status.since} until ${status.until} (S10.13)`)
    }
  }

  /** Events of a part come out in its order, and none is left out (S10.11). */
  #checkFifo (): void {
    const seen = { left: 0, right: 0 }
    for (const output of this.pair.outputs) {
      if (output.type === 'handler-event') {
        const event = output.event as { handler: string }
        const part = event.handler === 'left' ? 'left' : 'right'
        const id = idOf(event)
        const expected = this.parts.logs[part].emitted[seen[part]++]
        if (id !== expected) {
          this.#broken(`${part} emitted ${expected ?? 'nothing'}, and ${id} came out (S10.11)`)
        }
      }
    }
    const { left, right } = this.parts.logs
    this.#check(seen.left === left.emitted.length && seen.right === right.emitted.length, 'an event is missing (S10.11)')
  }

  #noticed (handler: SimulatedHandler): void {
    if (this.#flooded?.notice === handler) {
      const values = this.pair.outputs.length - this.#flooded.at
      this.#flooded = undefined
      this.#check(values <= LIMITS.maxHandlerEventsPerTurn + 1, `${values} values of a busy part came before a change of the other (S10.10)`)
    }
  }

  #hostOutcomes (): number {
    return this.pair.outputs.filter(({ type }) => type === 'host-stream-opened' || type === 'host-stream-failed').length
  }

  #openHostStreams (): number {
    return this.pair.outputs.filter(output =>
      output.type === 'host-stream-opened' && !output.port.stream.isClosed && output.port.stream.resetBy === undefined).length
  }

  /** The first names of a source that fit count, up to the limit (S3.18 to S3.21). */
  #report (source: Source, change: Change, names: readonly string[]): void {
    const held = change === 'replaced' ? new Set<string>() : this.#reported.get(source) ?? new Set()
    for (const name of names) {
      if (change === 'removed') {
        held.delete(name)
      } else if (held.size < LIMITS.maxRemoteProtocols && brokenProtocolRule(name, 1023) === undefined) {
        held.add(name)
      }
    }
    this.#reported.set(source, held)
  }

  #check (holds: boolean, otherwise: string): void {
    if (!holds) {
      this.#broken(otherwise)
    }
  }
}

/** The number of an event of a part, however deep that is. */
function idOf (event: unknown): number {
  return typeof event === 'number' ? event : idOf((event as { event: unknown }).event)
}
