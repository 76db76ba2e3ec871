import { StreamMessageEvent } from '@libp2p/interface'
import { Uint8ArrayList } from 'uint8arraylist'
import { checkSignal } from '../behaviours/call-options.ts'
import { pauseReading, resumeReading } from '../behaviours/reading.ts'
import { checkNames } from '../core/options.ts'
import { adopt } from './adopted-stream.ts'
import { ContainedListeners } from './contained-listeners.ts'
import { isOver } from './is-over.ts'
import { LazyUse } from './lazy-use.ts'
import { Waiting } from './next-turn.ts'
import { OwnListener } from './own-listener.ts'
import { PAUSE_ABOVE_BYTES, chunksOf } from './stream-reader.ts'
import { StreamWriter, lossOfStream } from './stream-writer.ts'
import type { AbortOptions, Stream, StreamCloseEvent } from '@libp2p/interface'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { SignalOptions } from '../behaviours/call-options.ts'
import type { StreamPlaces, StreamPort } from '../connection/muxer-port.ts'
import type { Adopter } from './adopted-stream.ts'
import type { Backlog } from './backlog.ts'
import type { Listener } from './call-listener.ts'
import type { StreamEnd } from './stream-reader.ts'

/** Who is told what happens to a stream: the driver of its connection. Only told while not busy. */
export interface StreamSink {
  /** True while a drain runs: nothing can be taken now. */
  readonly isBusy: boolean
  /** What all streams of the connection hold. */
  readonly backlog: Backlog
  /** Runs `task` when the running drain has ended. */
  whenIdle (task: () => void): void
  /** Runs `task` in the next turn of the event loop, or in a later one if that has no time for it. */
  nextTurn (task: () => void): void
  /** Takes bytes of the negotiation, and drains inside the event that brought them. */
  streamData (port: StreamAdapter, bytes: Uint8Array): void
  /** The remote ended its side, and every byte before that was taken. */
  streamEnded (port: StreamAdapter): void
  /** Both directions are closed. */
  streamClosed (port: StreamAdapter): void
  /** Both directions are gone at once: reset, aborted, or lost with the connection. */
  streamReset (port: StreamAdapter, error: Error): void
  /** Calls `tellClosing()` of the stream when the event loop has turned. May be called at any time. */
  tellClosingLater (waiting: Waiting<StreamAdapter>): void
  /** Takes {@link tellClosingLater} back. */
  tellClosingNever (waiting: Waiting<StreamAdapter>): void
  /** This side is closed, or reads no more after that. */
  streamClosing (port: StreamAdapter): void
  /** The stream no longer holds its connection open. May be called at any time. */
  ignoreForKeepAlive (port: StreamAdapter): void
  /** A listener that the user of the stream has added for `type` threw, or rejected. May be called at any time. */
  listenerThrew (port: StreamAdapter, type: string, cause: unknown): void
}

/** What a negotiation is given at a time: the rest of a flood stays in the stream, where it is not copied for every turn. */
const MAX_SHARE_BYTES = 16_384

/**
 * One stream of the host as the connection sees it, and our only listener for its bytes. The one object that every stream costs:
 * all else is made when it is needed first.
 *
 * While the stream is negotiated its bytes go to the sink; once it is accepted they are its user's, and only its end is
 * watched. The end of the remote is latched from birth on, as a lost connection later looks like an orderly end.
 *
 * A stream that was opened lazily (`assumed`) is its user's and negotiated at the same time: this listener came first, so it
 * takes the bytes of the negotiation before any other sees them (HOST 7).
 */
export class StreamAdapter extends OwnListener implements Adopter, StreamPort<NegotiatedStream>, StreamEnd {
  readonly stream: NegotiatedStream
  places: StreamPlaces | undefined = undefined
  readonly #sink: StreamSink
  readonly #closeStream: Stream['close']
  readonly #closeReadOfStream: Stream['closeRead']
  readonly #dispatch: Stream['dispatchEvent']
  readonly #addListener: EventTarget['addEventListener']
  readonly #removeListener: EventTarget['removeEventListener']
  /** The host negotiated it, and counts its bytes by itself. */
  readonly #isHosted: boolean
  #phase: 'waiting' | 'negotiating' | 'assumed' | 'accepted' | 'done' = 'waiting'
  #remoteEnded: boolean
  /** The remote has ended its side just now, in this task and while this side is open. */
  #mayBeLost = false
  #hasToldEnd = false
  #hasToldClosing = false
  /** Bytes came, or were taken, since the last time that somebody asked. */
  #hasTaken = false
  /** Waits to tell that this side was closed. */
  #closing: Waiting<StreamAdapter> | undefined
  #isOfHost = false
  #failure: Error | undefined
  #lazy: LazyUse | undefined
  /** Bytes are asked for again in the next turn. */
  #isLater = false
  #writer: StreamWriter | undefined
  /** Made for the first listener of its user. */
  #listeners: ContainedListeners | undefined
  /** Nothing is read, as the peer does not take the answers to what it sent. */
  #isHeld = false

  /**
   * @param stream - the host's stream; gets the methods of {@link NegotiatedStream}
   * @param sink - told what happens to it
   */
  constructor (stream: Stream, sink: StreamSink) {
    super()
    this.#sink = sink
    this.#isHosted = stream.protocol !== ''
    /* eslint-disable @typescript-eslint/unbound-method -- called with the stream as `this`, by the methods of these names below */
    this.#closeStream = stream.close
    this.#closeReadOfStream = stream.closeRead
    this.#dispatch = stream.dispatchEvent
    this.#addListener = stream.addEventListener
    this.#removeListener = stream.removeEventListener
    /* eslint-enable @typescript-eslint/unbound-method */
    this.stream = adopt(stream, this)
    this.#remoteEnded = stream.remoteWriteStatus === 'closed' && !isOver(stream)
  }

  /** Whether the remote ended its side in order. */
  get remoteEnded (): boolean {
    return this.#remoteEnded
  }

  /** What the stream closed with, if it was not in order. */
  get failure (): Error | undefined {
    return this.#failure
  }

  /** Whether it was agreed, or is about to be, and not for the host. */
  get isOfBehaviour (): boolean {
    return this.#isInUse && !this.#isOfHost
  }

  /** The `addEventListener` of the stream. What a listener of its user throws harms this stream (S4.15); the host's are the host's. */
  addListener (type: string, listener: Listener<Event> | null, options?: boolean | AddEventListenerOptions): void {
    if (this.#isOfHost || listener instanceof OwnListener) {
      this.#addListener.call(this.stream, type, listener, options)
    } else if (listener !== null) {
      this.#listeners ??= new ContainedListeners((thrownFor, cause) => { this.#sink.listenerThrew(this, thrownFor, cause) })
      this.#addListener.call(this.stream, type, this.#listeners.wrap(listener), options)
    }
  }

  /** The `removeEventListener` of the stream. */
  removeListener (type: string, listener: Listener<Event> | null | undefined, options?: boolean | EventListenerOptions): void {
    const added = listener == null ? null : this.#listeners?.find(listener) ?? listener
    this.#removeListener.call(this.stream, type, added, options)
  }

  /** Listener of the stream, while it is negotiated. */
  override handleEvent (event: StreamMessageEvent): void {
    this.#onBytes(event)
  }

  /**
   * The `dispatchEvent` of the stream. Two listeners for its ends would cost as much as all that is done about them: an end is
   * latched before anybody hears of it, and told when everybody has, as the muxer counts its streams by that.
   */
  dispatch (event: StreamCloseEvent | Event): boolean {
    const { type } = event
    if (type === 'close') {
      this.#failure = 'error' in event ? event.error : undefined
      this.#remoteEnded &&= !this.#mayBeLost
    } else if (type === 'remoteCloseWrite') {
      this.#remoteEnded = true
      this.#doubtEnd()
    } else {
      this.#hasTaken ||= type === 'message'
      return this.#dispatch.call(this.stream, event)
    }
    const isTaken = this.#dispatch.call(this.stream, event)
    this.#ended()
    return isTaken
  }

  /**
   * A transport that brings its own muxer may tell a loss as the end of both sides at once (WebRTC does). In order this side is not
   * over before it was closed, and closing takes longer than an event.
   */
  #doubtEnd (): void {
    if (this.#isHosted && this.stream.writeStatus === 'writable') {
      this.#mayBeLost = true
      this.#sink.backlog.soon(() => { this.#mayBeLost = false })
    }
  }

  #ended (): void {
    if (this.#isHeld && isOver(this.stream)) {
      this.#letGo()
    }
    this.#settle()
  }

  /** See {@link StreamPort}. */
  start (): void {
    if (this.#phase !== 'waiting') {
      return
    }
    this.#phase = 'negotiating'
    // What has arrived already follows in a microtask, so never from inside this call.
    this.stream.addEventListener('message', this)
    if (this.#remoteEnded || isOver(this.stream)) {
      this.#settle()
    }
  }

  /** See {@link StreamPort}. */
  write (bytes: Uint8Array): void {
    this.stream.send(bytes)
    if (this.stream.writeBufferLength > 0) {
      this.#holdWhileFull()
    }
  }

  /** See {@link StreamPort}. To be called inside the event that brought the bytes: once it has ended a stream takes none back. */
  readLater (bytes: Uint8Array): void {
    this.#listenLater()
    this.stream.unshift(bytes)
  }

  /**
   * See {@link StreamPort}. The turn is the event loop's, so that who awaits the stream may still write first; who writes in the
   * very event needs none.
   */
  assume (protocol: string, opening: Uint8Array): void {
    this.#phase = 'assumed'
    this.stream.protocol = protocol
    const lazy = new LazyUse(this.stream, this, opening)
    this.#lazy = lazy
    this.#sink.whenIdle(() => {
      if (lazy.isUnsent) {
        this.#sink.nextTurn(() => { lazy.flush() })
      }
    })
  }

  /** See {@link StreamPort}. */
  accept (protocol: string): void {
    this.#phase = 'accepted'
    this.stream.removeEventListener('message', this)
    this.stream.protocol = protocol
    this.#letGo()
    this.#lazy?.confirmed()
  }

  /** See {@link StreamPort}. */
  reading (): 'takes' | 'waits' | 'no' {
    const hasTaken = this.#hasTaken
    this.#hasTaken = false
    const isRead = this.#isRead
    return hasTaken && (isRead || this.stream.readStatus === 'paused') ? 'takes' : isRead ? 'waits' : 'no'
  }

  /** See {@link StreamEnd}. */
  readerTook (): void {
    this.#hasTaken = true
  }

  /** See {@link StreamEnd}. */
  readerStopped (): void {
    if (this.isOfBehaviour && this.stream.writeStatus !== 'writable' && !isOver(this.stream)) {
      this.#hasToldClosing = false
      this.#tellClosingLater()
    }
  }

  /** Whether somebody waits for what comes; who has paused the stream may take it some time, or never. */
  get #isRead (): boolean {
    const own = this.#phase === 'assumed' ? 1 : 0
    return this.stream.listenerCount('message') > own && this.stream.readStatus === 'readable'
  }

  /** See {@link StreamPort}. */
  unread (bytes: Uint8Array): void {
    const { stream } = this
    if (stream.readStatus === 'readable' && stream.listenerCount('message') > 0) {
      // Handing back would wait for a timer of the host, and let newer bytes overtake.
      stream.dispatchEvent(new StreamMessageEvent(bytes))
    } else if (stream.readStatus === 'readable' || stream.readStatus === 'paused') {
      stream.unshift(bytes)
    }
  }

  /** See {@link StreamPort}. */
  reset (error: Error): void {
    this.#phase = 'done'
    this.stream.abort(error)
  }

  /**
   * The stream is one of the host's, negotiated here or by the host itself: only its end is watched.
   *
   * @param isCorrected - whether the host gets the iterator that ends; on a lazy stream it does, as no other gives its error
   */
  giveToHost (isCorrected: boolean): void {
    this.#isOfHost = true
    if (this.#phase === 'waiting') {
      this.#phase = 'accepted'
    }
    if (!isCorrected && this.#lazy === undefined) {
      Reflect.deleteProperty(this.stream, Symbol.asyncIterator)
    }
  }

  /**
   * Lets somebody count the bytes of the user of the stream, as the host does for its own streams. The answer of a peer that
   * has yet to agree is none of them (S2.7).
   *
   * @param count - puts wrappers around the methods of the stream
   */
  track (count: (stream: NegotiatedStream) => void): void {
    if (this.#isHosted) {
      return
    }
    const { stream } = this
    const dispatch = stream.dispatchEvent.bind(stream)
    count(stream)
    if (this.#phase === 'assumed') {
      const counted = stream.dispatchEvent.bind(stream)
      stream.dispatchEvent = (event) => this.#phase === 'assumed' ? dispatch(event) : counted(event)
    }
  }

  /** See {@link NegotiatedStream}. */
  ignoreForKeepAlive (): void {
    this.#sink.ignoreForKeepAlive(this)
  }

  /** See {@link NegotiatedStream}. */
  async writeAll (bytes: Uint8Array, options?: SignalOptions): Promise<void> {
    if (options !== undefined) {
      checkNames(options, ['signal'], 'Cannot write')
      checkSignal(options.signal, 'Cannot write')
    }
    await this.#ownWriter.write(bytes, options?.signal)
  }

  /** The iterator of the stream. Streams of the host are not paused, as its own iterator does not: not every muxer can (mplex). */
  chunks (): AsyncGenerator<Uint8Array | Uint8ArrayList, void, undefined> {
    return chunksOf(this.stream, this, this.#isOfHost ? Infinity : PAUSE_ABOVE_BYTES)
  }

  /** The host's `close`. */
  close (options?: AbortOptions): Promise<void> {
    return this.#watchClosing(this.#lazy === undefined
      ? this.#closeStream.call(this.stream, options)
      : this.#lazy.close(() => this.#closeStream.call(this.stream, options)))
  }

  /** The host's `closeRead`. */
  closeRead (options?: AbortOptions): Promise<void> {
    return this.#watchClosing(this.#lazy === undefined
      ? this.#closeReadOfStream.call(this.stream, options)
      : this.#lazy.closeRead(() => this.#closeReadOfStream.call(this.stream, options)))
  }

  /**
   * The host's `close()` ends one direction only, and nobody limits how long the host's own services may go on reading. Of any
   * other stream the peer has a limited time to end its side (S6.3): a short one if nobody reads, which begins anew when a reader
   * leaves, or has paused the stream and does not take anything.
   */
  tellClosing (): void {
    if (this.#sink.isBusy) {
      this.#sink.whenIdle(() => { this.tellClosing() })
    } else if (this.#isInUse && !this.#hasToldClosing && this.stream.writeStatus !== 'writable') {
      this.#hasToldClosing = true
      this.#sink.streamClosing(this)
    }
  }

  /** Not at once: what was written may take its time to leave, and whoever awaits `close()` begins to read after it. */
  #watchClosing (closed: Promise<void>): Promise<void> {
    if (!this.#isOfHost) {
      const tellLater = (): void => { this.#tellClosingLater() }
      closed.then(tellLater, tellLater)
    }
    return closed
  }

  #tellClosingLater (): void {
    if (this.#phase !== 'done') {
      this.#closing ??= new Waiting(this)
      this.#sink.tellClosingLater(this.#closing)
    }
  }

  get #ownWriter (): StreamWriter {
    this.#writer ??= new StreamWriter(this.stream, this.#sink.backlog)
    return this.#writer
  }

  /** A peer that does not take the answers to what it sent is not read; the deadline of the negotiation goes on (S5.12). */
  #holdWhileFull (): void {
    const writer = this.#ownWriter
    writer.sent()
    if (this.#phase === 'negotiating' && !this.#isHeld && writer.isFull) {
      this.#isHeld = true
      this.stream.removeEventListener('message', this)
      pauseReading(this.stream)
      writer.whenRoom(() => { this.#letGo() })
    }
  }

  #letGo (): void {
    if (this.#isHeld) {
      this.#isHeld = false
      this.#writer?.whenRoom(undefined)
      if (!this.#isLater) {
        this.#listen()
      }
      resumeReading(this.stream)
    }
  }

  /** Whether it was handed over. */
  get #isInUse (): boolean {
    return this.#phase === 'accepted' || this.#phase === 'assumed'
  }

  get #isNegotiating (): boolean {
    return this.#phase === 'negotiating' || this.#phase === 'assumed'
  }

  #onBytes (event: StreamMessageEvent): void {
    if (!this.#isNegotiating) {
      return
    }
    if (this.#phase === 'assumed') {
      event.stopImmediatePropagation()
    }
    if (this.#sink.isBusy) {
      this.#takeLater(event.data)
    } else {
      this.#sink.streamData(this, this.#shareOf(event.data))
      this.#settle()
    }
  }

  #shareOf (data: Uint8Array | Uint8ArrayList): Uint8Array {
    if (this.#phase === 'assumed' || data.byteLength <= MAX_SHARE_BYTES) {
      return data.subarray()
    }
    const list = new Uint8ArrayList(data)
    this.#listenLater()
    this.stream.unshift(list.sublist(MAX_SHARE_BYTES))
    return list.subarray(0, MAX_SHARE_BYTES)
  }

  /** Hands the bytes back to the stream: what is left over by a negotiation can be handed back inside an event only. */
  #takeLater (data: Uint8Array | Uint8ArrayList): void {
    const { stream } = this
    const lazy = this.#lazy
    if (lazy !== undefined) {
      // This listener must stay the first one.
      lazy.hold()
      stream.unshift(data)
      this.#sink.whenIdle(() => { lazy.readOn() })
    } else {
      stream.removeEventListener('message', this)
      stream.unshift(data)
      this.#sink.whenIdle(() => { this.#listen() })
    }
  }

  #listenLater (): void {
    if (!this.#isLater) {
      this.#isLater = true
      this.stream.removeEventListener('message', this)
      this.#sink.nextTurn(() => {
        this.#isLater = false
        this.#listen()
      })
    }
  }

  /** Asks for bytes again. */
  #listen (): void {
    if (this.#phase === 'negotiating' && !this.#isHeld) {
      this.stream.addEventListener('message', this)
    }
  }

  /** For a stream that came late, from the host: nobody tells once more of what has ended it already. */
  checkOver (): void {
    if (isOver(this.stream)) {
      this.#settle()
    }
  }

  /** Tells of an end that has come, once every byte before it was taken: the host fires its events ahead of its buffer. */
  #settle (): void {
    if (this.#sink.isBusy) {
      this.#sink.whenIdle(() => { this.#settle() })
      return
    }
    if (this.#isNegotiating && this.stream.readBufferLength > 0) {
      return
    }
    if (this.#isNegotiating && this.#remoteEnded && !this.#hasToldEnd) {
      this.#hasToldEnd = true
      this.#sink.streamEnded(this)
    }
    if (this.#phase !== 'done' && isOver(this.stream)) {
      this.#tellOver()
    }
  }

  #tellOver (): void {
    const isOrderly = this.#phase === 'accepted' && this.#remoteEnded && this.stream.status === 'closed'
    this.#phase = 'done'
    if (this.#closing !== undefined) {
      this.#sink.tellClosingNever(this.#closing)
    }
    if (isOrderly) {
      this.#sink.streamClosed(this)
    } else {
      this.#failure ??= lossOfStream()
      this.#sink.streamReset(this, this.#failure)
    }
  }
}
