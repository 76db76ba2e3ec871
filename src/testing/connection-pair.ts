import { PENDING } from '../core/poll.ts'
import { Connection } from '../connection/connection.ts'
import { chunksOf } from './chunks.ts'
import { VirtualClock } from './virtual-clock.ts'
import { VirtualPort } from './virtual-stream.ts'
import type { Instant } from '../core/instant.ts'
import type { Direction } from '../core/ids.ts'
import type { ConnectionInit } from '../connection/connection-config.ts'
import type { ConnectionOutput, ConnectionReport } from '../connection/connection-output.ts'
import type { MuxerPort, StreamOpening } from '../connection/muxer-port.ts'
import type { AnyHandler } from '../handler/connection-handler.ts'
import type { StreamLink, VirtualPortEvents, VirtualStream } from './virtual-stream.ts'

/** What the two ends are, and over what kind of link they speak. */
export interface ConnectionPairInit {
  /** The handler of the end that opened the connection. */
  readonly dialer: AnyHandler
  /** The handler of the other end. */
  readonly listener: AnyHandler
  /** Options of both connections. Default: those of a connection. */
  readonly init?: ConnectionInit | undefined
  /** Milliseconds that everything takes from one end to the other. Default 0. */
  readonly latencyMs?: number | undefined
  /** How what is sent at once is cut: the sizes that `chunksOf` takes. Default: not at all. */
  readonly chunkSizes?: readonly number[] | undefined
}

/** For a stream that no connection knows. */
const UNWATCHED: VirtualPortEvents = {
  input: deliver => { deliver() },
  data: () => {},
  ended: () => {},
  reset: () => {},
  closed: () => {}
}

/** More steps than this in one drive mean that something never comes to rest. */
const MAX_STEPS = 100_000

/**
 * Two connections at the two ends of a link, in virtual time: nothing moves but in `step` and `drive`, and every run is
 * the same. Handlers are given {@link VirtualStream}s.
 *
 * @example
 * const pair = connectionPair({ dialer, listener, latencyMs: 25 })
 * dialer.request(['/echo/1.0.0'])
 * pair.drive(1000)
 */
export class ConnectionPair {
  readonly clock: VirtualClock = new VirtualClock()
  readonly dialer: PairEnd
  readonly listener: PairEnd
  readonly #latencyMs: number
  /** What is under way, in the order of arrival: equal latency keeps it sorted. */
  readonly #deliveries: Array<{ readonly at: Instant, deliver (): void }> = []

  constructor ({ dialer, listener, init = {}, latencyMs = 0, chunkSizes = [Infinity] }: ConnectionPairInit) {
    this.#latencyMs = latencyMs
    const post = (deliver: () => void): void => {
      this.#deliveries.push({ at: this.clock.now + this.#latencyMs, deliver })
    }
    this.dialer = new PairEnd('outbound', dialer, init, this.clock, chunkSizes, post)
    this.listener = new PairEnd('inbound', listener, init, this.clock, chunkSizes, post)
    this.dialer.meet(this.listener)
    this.listener.meet(this.dialer)
    this.#rest()
  }

  /** Moves on to the next thing that happens, at the latest at `until`; false when nothing happens before. */
  step (until: Instant = Infinity): boolean {
    const next = Math.min(this.#deliveries[0]?.at ?? Infinity, this.dialer.connection.pollTimeout(), this.listener.connection.pollTimeout())
    if (next > until || next === Infinity) {
      return false
    }
    this.clock.advanceTo(Math.max(next, this.clock.now))
    const due = this.#deliveries[0]
    if (due !== undefined && due.at <= this.clock.now) {
      this.#deliveries.shift()
      due.deliver()
    }
    this.#rest()
    return true
  }

  /**
   * Lets `durationMs` pass, with all that happens in it.
   *
   * @throws RangeError when too much happens: something never comes to rest
   */
  drive (durationMs: number = 0): void {
    const until = this.clock.now + durationMs
    this.#rest()
    for (let steps = 0; this.step(until); steps++) {
      if (steps > MAX_STEPS) {
        throw new RangeError(`Cannot drive the pair: it did not come to rest in ${MAX_STEPS} steps`)
      }
    }
    this.clock.advanceTo(until)
    this.#rest()
  }

  #rest (): void {
    while (this.dialer.drain() || this.listener.drain()) {
      // what one end does may move the other
    }
  }
}

/** Makes a {@link ConnectionPair}. */
export function connectionPair (init: ConnectionPairInit): ConnectionPair {
  return new ConnectionPair(init)
}

/** One end of a {@link ConnectionPair}: its connection, and all that came out of it. */
export class PairEnd implements MuxerPort, VirtualPortEvents {
  readonly connection: Connection<VirtualStream>
  /** What `poll` gave so far. */
  readonly outputs: Array<ConnectionOutput<VirtualStream, unknown>> = []
  /** What `pollReport` gave so far. */
  readonly reports: ConnectionReport[] = []
  /** How often the connection asked to be polled. */
  wakes = 0
  /** Turns of the connection so far. */
  turns = 0
  /** While true the muxer opens no stream: each request for one fails. */
  isRefusing = false
  readonly #clock: VirtualClock
  readonly #chunkSizes: readonly number[]
  readonly #post: (deliver: () => void) => void
  /** What the muxer has to tell once the drain is over. */
  readonly #inputs: Array<() => void> = []
  readonly #ports: Set<VirtualPort> = new Set()
  /** What a muxer that is stalled owes; undefined while it answers. */
  #owed: Array<() => void> | undefined
  #other: PairEnd | undefined
  #isDraining = false
  #isWoken = false

  constructor (
    direction: Direction, handler: AnyHandler, init: ConnectionInit, clock: VirtualClock,
    chunkSizes: readonly number[], post: (deliver: () => void) => void
  ) {
    this.#clock = clock
    this.#chunkSizes = chunkSizes
    this.#post = post
    const peer = direction === 'outbound' ? 'listener' : 'dialer'
    const components = {
      id: direction, peer, direction, handler, muxer: this,
      interest: { protocolChanges: true },
      wake: () => {
        this.wakes++
        this.#isWoken = true
      }
    }
    this.connection = new Connection(components, init, clock.now)
  }

  /** @internal The end that this one is linked with. */
  meet (other: PairEnd): void {
    this.#other = other
  }

  /** Streams of this end that wait for a slot, and that negotiate, and those of the latter that the other end opened. */
  get pending (): { readonly waiting: number, readonly negotiating: number, readonly inbound: number } {
    let waiting = 0
    let negotiating = 0
    let inbound = 0
    for (const { phase, isInbound } of this.#ports) {
      const isNegotiating = phase === 'negotiating' || phase === 'paused'
      waiting += phase === 'waiting' ? 1 : 0
      negotiating += isNegotiating ? 1 : 0
      inbound += isNegotiating && isInbound ? 1 : 0
    }
    return { waiting, negotiating, inbound }
  }

  /** Streams of this end that were opened lazily, and whose other end has yet to agree. */
  get unconfirmed (): VirtualStream[] {
    return Array.from(this.#ports).flatMap(({ phase, stream }) => phase === 'assumed' ? [stream] : [])
  }

  /** Streams that the other end opened and that have not ended, in whatever state they are. */
  get inboundStreams (): VirtualStream[] {
    return Array.from(this.#ports).flatMap(({ phase, stream, isInbound }) => isInbound && phase !== 'ended' && !stream.isClosed ? [stream] : [])
  }

  /**
   * Opens a stream that the connection of this end knows nothing of: what is sent on it is up to the test, and the other end
   * negotiates.
   */
  openRaw (): VirtualStream {
    const far = this.#far()
    let remote: VirtualPort | undefined
    const local = new VirtualPort(this.#linkTo(() => remote), UNWATCHED)
    local.accept('')
    this.#post(() => {
      remote = far.#makePort(() => local, true)
      far.#arrived(remote)
    })
    return local.stream
  }

  /** From now on the muxer answers neither requests for streams nor `close`, until {@link resume}. */
  stall (): void {
    this.#owed ??= []
  }

  /**
   * The muxer answers again, and first what it owes.
   *
   * @param order - whether the oldest request is answered first. Default `oldest-first`
   */
  resume (order: 'oldest-first' | 'newest-first' = 'oldest-first'): void {
    const owed = this.#owed ?? []
    this.#owed = undefined
    for (const answer of order === 'oldest-first' ? owed : owed.toReversed()) {
      this.input(answer)
    }
  }

  /** Polls until nothing moves; false when there was nothing to do. */
  drain (): boolean {
    if (!this.#isWoken && this.#inputs.length === 0 && this.connection.pollTimeout() > this.#clock.now) {
      return false
    }
    this.#isDraining = true
    do {
      this.#isWoken = false
      this.turns++
      for (let output = this.connection.poll(this.#clock.now); output !== PENDING; output = this.connection.poll(this.#clock.now)) {
        this.outputs.push(output)
      }
      for (let report = this.connection.pollReport(); report !== PENDING; report = this.connection.pollReport()) {
        this.reports.push(report)
      }
      this.#inputs.shift()?.()
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- whatever was called in between may have woken it
    } while (this.#isWoken || this.#inputs.length > 0)
    this.#isDraining = false
    return true
  }

  // -------------------------------------------------------------------------------------------------- the muxer

  openStream (opening: StreamOpening): void {
    const isRefused = this.isRefusing
    this.#answer(() => {
      if (isRefused) {
        this.connection.handleOutboundStreamFailure(opening, new Error('The muxer refused to open a stream'))
        return
      }
      const far = this.#far()
      let remote: VirtualPort | undefined
      const local = this.#makePort(() => remote, false)
      this.#post(() => {
        remote = far.#makePort(() => local, true)
        far.#arrived(remote)
      })
      this.connection.handleOutboundStream(opening, local)
    })
  }

  cancelOpening (): void {}

  close (): void {
    this.#answer(() => {
      for (const { stream } of this.#ports) {
        stream.end()
      }
      this.#post(() => { this.#far().#end() })
      this.#end()
    })
  }

  abort (error: Error): void {
    this.#post(() => { this.#far().#lose(error) })
    this.input(() => { this.#lose(error) })
  }

  // -------------------------------------------------------------------------------------------------- its streams

  /** A drain is one input and what follows from it; what comes meanwhile waits (S1.3). */
  input (deliver: () => void): void {
    if (this.#isDraining) {
      this.#inputs.push(deliver)
    } else {
      deliver()
    }
  }

  data (port: VirtualPort, bytes: Uint8Array): void {
    this.connection.handleStreamData(port, bytes)
  }

  ended (port: VirtualPort): void {
    this.connection.handleStreamEnd(port)
  }

  reset (port: VirtualPort, error: Error): void {
    this.#ports.delete(port)
    this.input(() => { this.connection.handleStreamReset(port, error) })
  }

  closed (port: VirtualPort): void {
    this.#ports.delete(port)
    this.input(() => { this.connection.handleStreamClosed(port) })
  }

  #arrived (port: VirtualPort): void {
    this.input(() => { this.connection.handleInboundStream(port, this.#clock.now) })
  }

  #makePort (far: () => VirtualPort | undefined, isInbound: boolean): VirtualPort {
    const port = new VirtualPort(this.#linkTo(far), this, isInbound)
    this.#ports.add(port)
    return port
  }

  #linkTo (far: () => VirtualPort | undefined): StreamLink {
    return {
      send: bytes => {
        for (const chunk of chunksOf(bytes.slice(), ...this.#chunkSizes)) {
          this.#post(() => { far()?.arrive(chunk) })
        }
      },
      end: () => { this.#post(() => { far()?.arriveEnd() }) },
      reset: error => { this.#post(() => { far()?.arriveReset(error) }) }
    }
  }

  /** The muxer has ended in good order, here or there. */
  #end (): void {
    this.connection.handleMuxerClosed()
  }

  /** The muxer went down with all its streams. */
  #lose (error: Error): void {
    for (const port of this.#ports) {
      port.stream.remoteReset(error)
    }
    this.#ports.clear()
    this.connection.handleMuxerClosed()
  }

  #far (): PairEnd {
    if (this.#other === undefined) {
      throw new Error('Cannot reach the other end: the pair is not linked yet')
    }
    return this.#other
  }

  #answer (deliver: () => void): void {
    if (this.#owed === undefined) {
      this.input(deliver)
    } else {
      this.#owed.push(deliver)
    }
  }
}
