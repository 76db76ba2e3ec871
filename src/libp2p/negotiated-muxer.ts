import { containedLog } from './contained-log.ts'
import { soon } from './scheduler.ts'
import { StreamEvents } from './stream-events.ts'
import { WireWriting } from './wire-writing.ts'
import type {
  AbortOptions, Connection, CreateStreamOptions, EventHandler, MessageStream, Stream, StreamMuxer, StreamMuxerEvents, StreamMuxerFactory
} from '@libp2p/interface'
import type { Scheduler } from './scheduler.ts'

declare module '@libp2p/interface' {
  /** What a wrapped muxer understands besides. */
  interface NewStreamOptions {
    /**
     * Whether the stream may be written to before the peer agreed, which saves a round trip. It takes effect for one name that
     * the peer has announced, on a muxer that was wrapped; a refusal then comes as an error of the stream.
     *
     * @default false
     */
    lazy?: boolean | undefined
  }

  interface CreateStreamOptions {
    /** As in `NewStreamOptions`, which the host passes on. */
    lazy?: boolean | undefined
  }
}

/** Who takes over the streams of a wrapped muxer once its connection is known. */
export interface MuxerOwner {
  /** Whether streams may be opened: false as soon as the connection begins to close, which the inner muxer hears of later. */
  readonly isOpen: boolean
  /** The remote opened a stream that bears no name yet. */
  inboundStream (stream: Stream): void
  /** A service of the node wants a stream that speaks `options.protocol`. */
  openHostStream (options: CreateStreamOptions): Promise<Stream>
  /** A stream that the host negotiates by itself was opened. */
  passedThrough (stream: Stream): void
  /**
   * Whether the host must not see `stream`: it is a behaviour's, and bears a name that a service of the node has too. The host
   * counts the streams of each name against the limit of the service, and its connection monitor ends connections over that.
   */
  isHidden (stream: Stream): boolean
  /** The host closes the connection, and the muxer first; resolves when the muxer has closed. */
  closeMuxer (options: AbortOptions): Promise<void>
  /** The host ends the connection at once. */
  abortMuxer (error: Error): void
  /** A listener for `type` threw, or rejected. */
  listenerThrew (type: string, cause: unknown): void
}

/**
 * The stream of a connection from which on its small writes are joined. The few that services open when a connection begins
 * gain nothing, and a connection that is idle after them keeps nothing for it.
 */
const JOIN_FROM_STREAM = 32

/**
 * Streams that a remote may open before this side has finished its part of the upgrade, in which a gate may take seconds. The
 * inner muxer would take ten, then abort itself and leave the connection listed as open; this is as many as a connection of the
 * swarm takes by default until one of them is answered.
 */
const MAX_EARLY_STREAMS = 384

/**
 * A muxer as the host knows it a connection by: muxers keep one array of their streams for life, and a connection shows
 * that very array (HOST 5.2).
 */
const muxers = new WeakMap<Stream[], NegotiatedMuxer>()

/**
 * The wrapped muxer of a connection; undefined for a muxer that was not wrapped. To be asked once, when the connection
 * opens: a muxer may replace its array while it closes.
 */
export function muxerOf (connection: Connection): NegotiatedMuxer | undefined {
  return muxers.get(connection.streams)
}

/**
 * Wraps a stream muxer so that the swarm negotiates its streams: those of behaviours stay with the swarm, all others are
 * passed on to the host as if nobody had touched them. Without a swarm in the node, and on connections that the swarm does
 * not know, the wrapped muxer does what the bare one does.
 *
 * `withSwarm` wraps every muxer by itself; this is for those who write the options of their node out.
 *
 * @example
 * streamMuxers: [negotiated(yamux())]
 */
export function negotiated<Components> (
  factory: (components: Components) => StreamMuxerFactory
): (components: Components) => StreamMuxerFactory {
  return (components) => wrapFactory(factory(components))
}

/** Everything but `createStreamMuxer` is the factory's own: its name, its capabilities, its life cycle. */
function wrapFactory (factory: StreamMuxerFactory): StreamMuxerFactory {
  const createStreamMuxer = (wire: MessageStream): StreamMuxer => new NegotiatedMuxer(factory.createStreamMuxer(wire), wire)
  return new Proxy(factory, {
    get (target, key) {
      if (key === 'createStreamMuxer') {
        return createStreamMuxer
      }
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) as unknown : value
    }
  })
}

/**
 * Stands between a connection of the host and its muxer. Until the swarm has taken it over it holds no state and lets
 * everything through.
 */
export class NegotiatedMuxer extends StreamEvents implements StreamMuxer, EventListenerObject {
  /** The muxer that does the work. */
  readonly inner: StreamMuxer
  /** Set when the connection opens. */
  owner: MuxerOwner | undefined
  readonly #wire: MessageStream | undefined
  #scheduler: Pick<Scheduler, 'soon'> | undefined
  #streamsSeen = 0
  #writing: WireWriting | undefined
  /** What came before anybody listened; undefined from when it has been passed on. */
  #early: Stream[] | undefined = []
  #isHeard = false

  /**
   * @param inner - the muxer that does the work
   * @param wire - what it sends to
   */
  constructor (inner: StreamMuxer, wire?: MessageStream) {
    super()
    this.inner = inner
    this.#wire = wire
    muxers.set(inner.streams, this)
    // At once, not with the first listener: what nobody listens to is counted by the inner muxer.
    inner.addEventListener('stream', this)
  }

  /** Of the inner muxer. */
  get protocol (): string {
    return this.inner.protocol
  }

  /** The very array of the inner muxer, unless some of its streams are hidden. */
  get streams (): Stream[] {
    const { owner, inner: { streams } } = this
    if (owner === undefined || !streams.some((stream) => owner.isHidden(stream))) {
      return streams
    }
    return streams.filter((stream) => !owner.isHidden(stream))
  }

  /** Of the inner muxer; `closing` while handlers have their last word before it. */
  get status (): StreamMuxer['status'] {
    const { owner, inner: { status } } = this
    return status === 'open' && owner?.isOpen === false ? 'closing' : status
  }

  /**
   * Opens a stream, and negotiates it if the host asks for one protocol. Of several the host does not tell the names: it
   * gets the bare stream and negotiates by itself.
   */
  async createStream (options: CreateStreamOptions = {}): Promise<Stream> {
    const { owner } = this
    if (owner === undefined) {
      return await this.openInner(options)
    }
    if (options.protocol !== undefined) {
      return await owner.openHostStream(options)
    }
    const stream = await this.openInner(options)
    owner.passedThrough(stream)
    return stream
  }

  /** Closes the muxer, after the handlers of the connection had their say. */
  async close (options: AbortOptions = {}): Promise<void> {
    await (this.owner?.closeMuxer(options) ?? this.inner.close(options))
  }

  /** Ends the muxer and its streams at once. */
  abort (error: Error): void {
    if (this.owner === undefined) {
      this.inner.abort(error)
    } else {
      this.owner.abortMuxer(error)
    }
  }

  /**
   * Early streams go to the first listener (`stream` is the only event there is), as with the inner muxer in a microtask: by
   * then the connection has been announced, and its owner is known.
   */
  override addEventListener<Type extends keyof StreamMuxerEvents> (
    type: Type, listener: EventHandler<StreamMuxerEvents[Type]> | null, options?: boolean | AddEventListenerOptions
  ): void {
    super.addEventListener(type, listener, options)
    if (this.#isHeard || this.listenerCount('stream') === 0) {
      return
    }
    this.#isHeard = true
    if (this.#early?.length === 0) {
      this.#early = undefined
    } else {
      soon(() => { this.#passEarly() })
    }
  }

  /** The connection is known: once it turns out to be busy, small chunks sent in a row are one write of the wire. */
  joinWrites (scheduler: Pick<Scheduler, 'soon'>): void {
    this.#scheduler = scheduler
  }

  /** Opens a stream of the inner muxer. */
  openInner (options: CreateStreamOptions): Promise<Stream> {
    this.#countStream()
    return this.inner.createStream(options)
  }

  /** Writes what waits to be joined: the host ends what lies below the wire by itself. */
  flush (): void {
    this.#writing?.flush()
  }

  /** Listener of the inner muxer: the remote opened a stream. */
  handleEvent ({ detail: stream }: CustomEvent<Stream>): void {
    if (this.#early === undefined) {
      this.#pass(stream)
    } else if (this.#early.push(stream) > MAX_EARLY_STREAMS) {
      this.#early = []
      const error = new RangeError(`Cannot take the connection: more than ${MAX_EARLY_STREAMS} streams were opened before it was upgraded`)
      this.inner.abort(error)
      this.#wire?.abort(error)
    }
  }

  /** Gives a stream to the host. */
  emit (stream: Stream): void {
    this.safeDispatchEvent('stream', { detail: stream })
  }

  /** As long as nobody else is to be told, the log of the wire is. */
  protected override onListenerError (type: string, cause: unknown): void {
    if (this.owner !== undefined) {
      this.owner.listenerThrew(type, cause)
    } else if (this.#wire !== undefined) {
      containedLog(this.#wire.log, () => {}).error('listener for %s threw - %e', type, cause)
    }
  }

  #passEarly (): void {
    const early = this.#early ?? []
    this.#early = undefined
    for (const stream of early) {
      this.#pass(stream)
    }
  }

  #pass (stream: Stream): void {
    this.#countStream()
    if (this.owner === undefined || stream.protocol !== '') {
      this.emit(stream)
    } else {
      this.owner.inboundStream(stream)
    }
  }

  #countStream (): void {
    if (this.#writing !== undefined || this.#wire === undefined || this.#scheduler === undefined) {
      return
    }
    this.#streamsSeen++
    if (this.#streamsSeen === JOIN_FROM_STREAM) {
      this.#writing = new WireWriting(this.#wire, this.inner, this.#scheduler)
    }
  }
}
