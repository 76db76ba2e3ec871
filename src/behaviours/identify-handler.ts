/**
 * Identify on one connection.
 *
 * ```
 *             ┌── asked once the connection is there, and on command: one stream at a time
 *   outbound ─┤
 *             └── push: when something changed and the peer takes pushes; one stream at a time, so many at once, then at a
 *                 bounded rate. What changes meanwhile is told with the next one, so the last state is always told.
 *   inbound ──── asked, and pushed to: so many streams at a time, the next one is reset. Pushes are read as they come and
 *                taken in at a bounded rate, those that wait as one: a peer that pushes in a loop costs no more than its bytes
 * ```
 *
 * What it says of protocols is what this very connection accepts. What it hears replaces all that this peer said before, on
 * this connection, and nothing of a message counts that cannot be read or is not the peer's own.
 */

import { NEVER, earliest } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { toError } from '../core/to-error.ts'
import { TimeoutError } from '../errors.ts'
import { Outbox } from '../handler/outbox.ts'
import { SupportedProtocols } from '../protocols/supported-protocols.ts'
import { HeardPushes } from './heard-pushes.ts'
import { readMessages, splitMessage, writeMessages } from './identify-frames.ts'
import { parseIdentify } from './identify-info.ts'
import { IDENTIFY_PROTOCOL, IDENTIFY_PROTOCOLS, IDENTIFY_PUSH_PROTOCOL } from './identify-protocols.ts'
import { Paced } from './paced.ts'
import { TimedSet } from './timed-set.ts'
import type { Connection as HostConnection } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { ConnectionEvent, ConnectionHandler, HandlerOutput } from '../behaviour/connection-handler.ts'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { EstablishedConnection } from '../behaviour/network-behaviour.ts'
import type { Instant } from '../core/instant.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { StreamUpgradeError } from '../errors.ts'
import type { ProtocolsChange } from '../protocols/protocols-change.ts'
import type { IdentifyLimits } from './identify-frames.ts'
import type { IdentifyHost } from './identify-host.ts'
import type { IdentifyInfo } from './identify-info.ts'
import type { IdentifyMessage } from './identify-message.ts'

/** A peer asks once per connection, and pushes one by one; some leave a stream to end later. */
const MAX_INBOUND_STREAMS = 4

/** What came of streams and waits to be taken, when no other stream is let in: nobody takes events in a stall (S8.3). */
const MAX_WAITING = 256

/** What went wrong: asking the peer, answering it, telling it of a change, or hearing of one. */
export type IdentifyAction = 'ask' | 'answer' | 'push' | 'hear'

/** What identify came to. */
export type IdentifyEvent =
  /** The peer answered. */
  | { readonly type: 'identified', readonly info: IdentifyInfo }
  /** The peer told of a change; `info` is all that it says of itself now. */
  | { readonly type: 'pushed', readonly info: IdentifyInfo }
  /**
   * A `StreamUpgradeError` (kind `negotiation-failed`: the peer does not speak identify), a `RemoteProtocolError`, a
   * `TimeoutError`, `RangeError` when not everything could be said, or the error of the stream or of the peer store.
   */
  | { readonly type: 'error', readonly action: IdentifyAction, readonly error: Error }

/** What the handler may be told: to ask the peer now, or that the addresses of the node changed. */
export interface IdentifyCommand {
  readonly type: 'ask-now' | 'addresses-changed'
}

/** Options of identify that a handler needs, complete. */
export interface IdentifyConfig extends IdentifyLimits {
  readonly timeoutMs: number
  readonly pushIntervalMs: number
  readonly pushBurst: number
}

/** What a stream of ours is for. */
export type IdentifyPurpose = 'ask' | 'push'

type Output = HandlerOutput<IdentifyEvent, IdentifyPurpose>

/** Identify on one connection. */
export class IdentifyHandler implements ConnectionHandler<IdentifyCommand, IdentifyEvent, IdentifyPurpose> {
  readonly #config: IdentifyConfig
  readonly #host: IdentifyHost
  readonly #connection: EstablishedConnection
  #address: Multiaddr
  #cx: PollContext | undefined
  readonly #local = new SupportedProtocols()
  readonly #streams = new TimedSet<NegotiatedStream>()
  readonly #pace: Paced
  #inboundStreams = 0
  #ask: 'due' | 'running' | 'done' = 'due'
  /** Whether the peer knows less than there is to say. */
  #isDirty = false
  #isPushing = false
  #takesPushes = false
  /** The peer refused a push, and there was no change since that it would have to be told, nor did it say that it takes them. */
  #isRefused = false
  #hasLeftOut = false
  readonly #heard = new HeardPushes()
  /** One message after the other is taken in, in the order in which they were read. */
  #taken: Promise<unknown> = Promise.resolve()
  /** Bounded where streams come in, each of which gives three values at most; those of our own are paced. */
  readonly #outbox = new Outbox<Output>(Infinity)

  /**
   * @param config - the options
   * @param host - the node
   * @param connection - the one that it is about
   */
  constructor (config: IdentifyConfig, host: IdentifyHost, connection: EstablishedConnection) {
    this.#config = config
    this.#host = host
    this.#connection = connection
    this.#address = connection.address
    this.#pace = new Paced(config.pushBurst, config.pushIntervalMs)
  }

  listenProtocols (): readonly string[] {
    return IDENTIFY_PROTOCOLS
  }

  poll (cx: PollContext): Poll<Output> {
    this.#cx = cx
    for (const stream of this.#streams.takeExpired(cx)) {
      stream.abort(new TimeoutError(`Identify has taken ${this.#config.timeoutMs} ms`))
    }
    this.#takeHeard(cx.now)
    const output = this.#outbox.poll(cx)
    const next = output === PENDING ? this.#request(cx.now) : output
    const nextPush = this.#mayPush ? this.#pace.nextAt : NEVER
    cx.wakeAt(earliest(earliest(this.#streams.nextDeadline, nextPush), this.#heard.nextAt))
    return next
  }

  onConnectionEvent (event: ConnectionEvent<IdentifyPurpose>): void | PromiseLike<void> {
    switch (event.type) {
      case 'fully-negotiated-inbound':
        return this.#serve(event.stream, event.protocol)
      case 'fully-negotiated-outbound':
        return event.info === 'ask' ? this.#listen(event.stream) : this.#tellChange(event.stream)
      case 'dial-upgrade-error':
        this.#refused(event.info, event.error)
        break
      case 'local-protocols-change':
        this.#local.apply(event.change)
        // Before the first poll there is nobody to whom it could have been said otherwise.
        if (this.#cx !== undefined) {
          this.#changed()
        }
        break
      case 'remote-protocols-change':
        this.#remoteChanged(event.change)
        break
      case 'address-change':
        this.#address = event.address
        break
      case 'listen-upgrade-error':
    }
    return undefined
  }

  onBehaviourEvent ({ type }: IdentifyCommand): void {
    switch (type) {
      case 'ask-now':
        if (this.#ask === 'done') {
          this.#ask = 'due'
        }
        break
      case 'addresses-changed':
        this.#changed()
    }
  }

  // ------------------------------------------------------------------------------------------------------- outbound

  get #mayPush (): boolean {
    return this.#isDirty && this.#takesPushes && !this.#isRefused && !this.#isPushing
  }

  #changed (): void {
    this.#isDirty = true
    this.#isRefused = false
  }

  #request (now: Instant): Poll<Output> {
    const { timeoutMs } = this.#config
    if (this.#ask === 'due') {
      this.#ask = 'running'
      return { type: 'outbound-stream-request', protocols: [IDENTIFY_PROTOCOL], timeoutMs, info: 'ask' }
    }
    if (this.#mayPush && this.#pace.nextAt <= now) {
      this.#pace.take(now)
      this.#isPushing = true
      return { type: 'outbound-stream-request', protocols: [IDENTIFY_PUSH_PROTOCOL], timeoutMs, info: 'push' }
    }
    return PENDING
  }

  #refused (purpose: IdentifyPurpose, error: StreamUpgradeError): void {
    this.#isPushing &&= purpose !== 'push'
    if (purpose === 'push' && error.kind === 'negotiation-failed') {
      // It may have been a matter of the moment, as it said that it takes them: the next change is another try.
      this.#isRefused = true
    }
    if (error.kind !== 'connection-closed') {
      this.#failed(purpose, error)
    }
  }

  async #listen (stream: NegotiatedStream): Promise<void> {
    await this.#run('ask', stream, async () => { await this.#hear('identified', stream) })
  }

  async #tellChange (stream: NegotiatedStream): Promise<void> {
    await this.#run('push', stream, async () => {
      try {
        await this.#say('push', stream)
      } catch (error) {
        this.#isDirty = true
        throw error
      }
      // Peers take one push at a time: the next one waits until this one is over for them, in whatever way.
      await endOf(stream)
    })
    this.#isPushing = false
    this.#cx?.wake()
  }

  #remoteChanged ({ type, protocols }: ProtocolsChange): void {
    if (protocols.has(IDENTIFY_PUSH_PROTOCOL)) {
      this.#takesPushes = type === 'added'
      this.#isRefused = false
    }
  }

  // -------------------------------------------------------------------------------------------------------- inbound

  async #serve (stream: NegotiatedStream, protocol: string): Promise<void> {
    if (this.#inboundStreams >= MAX_INBOUND_STREAMS || this.#outbox.size >= MAX_WAITING) {
      stream.ignoreForKeepAlive()
      stream.abort(new RangeError(`A peer may have ${MAX_INBOUND_STREAMS} inbound identify streams, and ${MAX_WAITING} outcomes that nobody took`))
      return
    }
    this.#inboundStreams++
    if (protocol === IDENTIFY_PROTOCOL) {
      await this.#run('answer', stream, async () => { await this.#say('answer', stream) })
    } else {
      await this.#run('hear', stream, async () => { await this.#hear('pushed', stream) })
    }
    this.#inboundStreams--
  }

  // --------------------------------------------------------------------------------------------------- both directions

  /** Never rejects: what goes wrong is an event, and the end of its stream. */
  async #run (action: IdentifyAction, stream: NegotiatedStream, work: () => Promise<void>): Promise<void> {
    stream.ignoreForKeepAlive()
    this.#streams.add(stream, this.#config.timeoutMs)
    this.#cx?.wake()
    try {
      await work()
    } catch (thrown) {
      const error = toError(thrown)
      stream.abort(error)
      this.#failed(action, error)
    } finally {
      this.#streams.delete(stream)
    }
  }

  async #say (action: 'answer' | 'push', stream: NegotiatedStream): Promise<void> {
    const self = await this.#host.describe(this.#address)
    if (action === 'push') {
      this.#isDirty = false
    }
    const { messages, leftOut } = splitMessage({ ...self, protocols: [...this.#local] })
    if (leftOut > 0 && !this.#hasLeftOut) {
      this.#hasLeftOut = true
      this.#failed(action, new RangeError(`Cannot tell the peer everything: ${leftOut} protocols or addresses are more than it would read`))
    }
    await writeMessages(stream, messages)
  }

  async #hear (type: 'identified' | 'pushed', stream: NegotiatedStream): Promise<void> {
    const { peer } = this.#connection
    const connection = this.#host.connectionOf(peer, stream)
    const message = await readMessages(stream, this.#config)
    await closeBoth(stream)
    if (type === 'pushed') {
      this.#heard.add({ message, connection })
      this.#cx?.wake()
    } else {
      // It is all that the peer says of itself, and newer.
      this.#heard.clear()
      await this.#take(type, message, connection)
    }
  }

  /** Takes in what was pushed, if it is time. */
  #takeHeard (now: Instant): void {
    const heard = this.#heard.take(now)
    if (heard !== undefined) {
      this.#take('pushed', heard.message, heard.connection).catch((thrown: unknown) => { this.#failed('hear', toError(thrown)) })
    }
  }

  async #take (type: 'identified' | 'pushed', message: IdentifyMessage, connection: HostConnection | undefined): Promise<void> {
    const { peer } = this.#connection
    const taken = this.#taken.then(async () => {
      const info = await parseIdentify(peer, message)
      this.#isRefused &&= !info.protocols.includes(IDENTIFY_PUSH_PROTOCOL)
      this.#outbox.push({ type: 'report-remote-protocols', change: 'replaced', protocols: info.protocols })
      await this.#host.remember(peer, message, info, connection)
      this.#emit({ type, info })
    })
    this.#taken = taken.catch(() => {})
    await taken
  }

  #failed (action: IdentifyAction, error: Error): void {
    this.#emit({ type: 'error', action, error })
  }

  /** Who hears the outcome of an exchange may ask for the next one in that moment. */
  #emit (event: IdentifyEvent): void {
    if (event.type === 'identified' || (event.type === 'error' && event.action === 'ask')) {
      this.#ask = 'done'
    }
    this.#outbox.push({ type: 'notify-behaviour', event })
  }
}

/** Everything was read: what the peer still has to say, or how it takes leave, is of no interest. */
async function closeBoth (stream: NegotiatedStream): Promise<void> {
  try {
    await stream.closeRead()
    await stream.close()
  } catch {
    // It has gone already.
  }
}

async function endOf (stream: NegotiatedStream): Promise<void> {
  try {
    for await (const _ of stream) {
      // A peer has nothing to say to a push.
    }
  } catch {
    // Some peers reset a stream that they have read.
  }
}
