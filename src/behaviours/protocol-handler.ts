import { duration, flag, parseOptions } from '../core/options.ts'
import { AbortError, ConnectionClosedError } from '../errors.ts'
import { PENDING } from '../core/poll.ts'
import { Outbox } from '../handler/outbox.ts'
import { NO_PROTOCOLS, namesOf, parseListing } from './listing.ts'
import { checkCallback } from './stream-callback.ts'
import { StreamRuns } from './stream-runs.ts'
import { HandlerScope } from './stream-scope.ts'
import type { StreamUpgradeError } from '../errors.ts'
import type { AnyHandler, ConnectionEvent, ConnectionHandler, HandlerOutput } from '../behaviour/connection-handler.ts'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { OptionTable } from '../core/options.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'
import type { LazyOptions } from './call-options.ts'
import type { Call } from './calls.ts'
import type { LazySignal } from './lazy-signal.ts'
import type { HandlerContext, StreamCallback } from './stream-callback.ts'

/** What both short forms take. */
export interface ProtocolInit<Event, Context> {
  /** One name, several, or a `ProtocolList` that may change. */
  protocols: string | ProtocolListing
  /** Serves the streams that the peer opens. Absent: the names are not offered. */
  inbound?: StreamCallback<Event, Context> | undefined
  /** Lengthens the deadline of inbound negotiations, in milliseconds from arrival. @default the option of the connection */
  inboundTimeoutMs?: number | undefined
  /** True holds every connection open; otherwise streams do, as long as they are open. @default false */
  keepAlive?: boolean | undefined
}

/** What `protocolHandler` takes. */
export interface ProtocolHandlerInit<Event> extends ProtocolInit<Event, HandlerContext> {
  /** Serves the streams that the behaviour asked for with {@link OpenStream}. */
  outbound?: StreamCallback<Event, HandlerContext> | undefined
  /** Told when a stream that the behaviour asked for could not be had. */
  outboundFailed?: ((error: StreamUpgradeError) => void) | undefined
}

/** Tells the handler to open a stream, and to serve it with `outbound`. */
export interface OpenStream extends Readonly<LazyOptions> {
  readonly type: 'open-stream'
  /** Names to propose, in this order. Default: those of the handler. */
  readonly protocols?: readonly string[] | undefined
}

/** Opens a stream for a caller, who gets it. */
export interface OpenForCall extends Readonly<LazyOptions> {
  readonly type: 'open-for-call'
  readonly call: Call<NegotiatedStream>
  readonly protocols: readonly string[] | undefined
  /** Default: the option `outboundTimeoutMs` of the connection. */
  readonly timeoutMs: number | undefined
}

/** What a {@link ProtocolHandler} may be told. */
export type ProtocolCommand =
  | OpenStream
  | OpenForCall
  /** The caller went away. */
  | { readonly type: 'cancel-call', readonly call: Call<NegotiatedStream> }

/**
 * The handler of one connection from async callbacks: {@link StreamCallback} says what becomes of streams, events and
 * errors.
 *
 * @param init - names and callbacks
 * @throws TypeError or RangeError for an option that is missing, unknown or out of range, and for a name that is none
 *
 * @example
 * protocolHandler({
 *   protocols: '/time/1.0.0',
 *   async inbound (stream) { stream.send(new TextEncoder().encode(new Date().toISOString())) }
 * })
 */
export function protocolHandler<const Event = never> (init: ProtocolHandlerInit<Event>): AnyHandler<OpenStream, NoInfer<Event>> {
  const action = 'Cannot make a handler'
  checkProtocolInit(init, SHARED_OPTIONS, ['inbound', 'outbound', 'outboundFailed'], action)
  const config = { ...init, protocols: parseListing(init.protocols, action) }
  return new ProtocolHandler<Event, HandlerContext, undefined>(config, (protocol, signal) => new HandlerScope(protocol, signal), undefined)
}

interface SharedOptions {
  readonly inboundTimeoutMs: number
  readonly keepAlive: boolean
}

/** Options of both short forms, besides names and callbacks. */
export const SHARED_OPTIONS: OptionTable<SharedOptions> = { inboundTimeoutMs: duration(0), keepAlive: flag(false) }

/**
 * Checks the options of a short form, but for its names.
 *
 * @param callbacks - the options that are functions, none of which is required
 * @throws TypeError or RangeError for an option that is unknown, of the wrong type, or out of range
 */
export function checkProtocolInit<Config extends object> (
  init: object, table: OptionTable<Config>, callbacks: readonly string[], action: string
): void {
  parseOptions(table, init, action, ['protocols', ...callbacks])
  const given = new Map<string, unknown>(Object.entries(init))
  for (const name of callbacks) {
    checkCallback(name, given.get(name), action)
  }
}

/** {@link ProtocolHandlerInit} after parsing, with callbacks that may want more context. */
export interface ProtocolHandlerConfig<Event, Context> extends ProtocolInit<Event, Context> {
  readonly protocols: ProtocolListing
  readonly outbound?: StreamCallback<Event, Context> | undefined
  readonly outboundFailed?: ((error: StreamUpgradeError) => void) | undefined
}

type Info = Call<NegotiatedStream> | undefined

/** Makes the context of a callback over one stream. */
type ContextMaker<Context, Connection> = (protocol: string, signal: LazySignal, connection: Connection) => Context

/** The machine behind both short forms. */
export class ProtocolHandler<Event, Context, Connection> implements ConnectionHandler<ProtocolCommand, Event, Info> {
  readonly #config: ProtocolHandlerConfig<Event, Context>
  readonly #contextOf: ContextMaker<Context, Connection>
  readonly #connection: Connection
  /** Made with the first stream, after which a poll follows, as after every event. */
  #runs: StreamRuns<Event> | undefined
  /** Made for the first request. Not bounded here: requests come from commands, which the inbox of the connection bounds. */
  #requests: Outbox<HandlerOutput<never, Info>> | undefined
  #isClosing = false

  /**
   * @param contextOf - shared by the handlers of all connections
   * @param connection - given to `contextOf`
   */
  constructor (config: ProtocolHandlerConfig<Event, Context>, contextOf: ContextMaker<Context, Connection>, connection: Connection) {
    this.#config = config
    this.#contextOf = contextOf
    this.#connection = connection
  }

  get inboundTimeoutMs (): number {
    return this.#config.inboundTimeoutMs ?? 0
  }

  listenProtocols (): ProtocolListing {
    return this.#config.inbound === undefined ? NO_PROTOCOLS : this.#config.protocols
  }

  keepAlive (): boolean {
    return this.#config.keepAlive ?? false
  }

  poll (cx: PollContext): Poll<HandlerOutput<Event, Info>> {
    const request = this.#requests?.poll(cx) ?? PENDING
    if (request !== PENDING) {
      return request
    }
    const event = this.#runs?.poll(cx) ?? PENDING
    return event === PENDING ? PENDING : { type: 'notify-behaviour', event }
  }

  pollClose (cx: PollContext): Poll<Event | undefined> {
    this.#runs ??= new StreamRuns()
    if (!this.#isClosing) {
      this.#isClosing = true
      this.#runs.end(new ConnectionClosedError('The connection closes'))
    }
    const event = this.#runs.poll(cx)
    return event === PENDING ? undefined : event
  }

  onConnectionEvent (event: ConnectionEvent<Info>): void | PromiseLike<void> {
    switch (event.type) {
      case 'fully-negotiated-inbound':
        return this.#serve(event.stream, event.protocol, this.#config.inbound)
      case 'fully-negotiated-outbound':
        if (event.info === undefined) {
          return this.#serve(event.stream, event.protocol, this.#config.outbound)
        }
        this.#give(event.stream, event.info)
        break
      case 'dial-upgrade-error':
        if (event.info === undefined) {
          this.#config.outboundFailed?.(event.error)
        } else {
          event.info.reject(event.error)
        }
        break
      case 'listen-upgrade-error':
      case 'local-protocols-change':
      case 'remote-protocols-change':
      case 'address-change':
    }
    return undefined
  }

  onBehaviourEvent (command: ProtocolCommand): void {
    switch (command.type) {
      case 'open-stream':
        this.#request(command)
        break
      case 'open-for-call':
        if (!command.call.isSettled) {
          this.#request(command)
        }
        break
      case 'cancel-call':
        this.#ask({ type: 'cancel-outbound-request', token: command.call })
    }
  }

  #request ({ protocols = namesOf(this.#config.protocols), lazy, call, timeoutMs }: Omit<Partial<OpenForCall>, 'type'>): void {
    if (call !== undefined) {
      call.phase = 'open'
    }
    this.#ask({ type: 'outbound-stream-request', protocols, timeoutMs, lazy, info: call, token: call })
  }

  #ask (request: HandlerOutput<never, Info>): void {
    this.#requests ??= new Outbox(Infinity)
    this.#requests.push(request)
  }

  #serve (stream: NegotiatedStream, protocol: string, callback: StreamCallback<Event, Context> | undefined): PromiseLike<void> | undefined {
    if (callback === undefined) {
      stream.abort(new AbortError(`Nobody serves streams of "${protocol}" here`))
      return undefined
    }
    this.#runs ??= new StreamRuns()
    return this.#runs.run(stream, signal => callback(stream, this.#contextOf(protocol, signal, this.#connection)) ?? undefined)
  }

  #give (stream: NegotiatedStream, call: Call<NegotiatedStream>): void {
    if (!call.resolve(stream)) {
      stream.abort(new AbortError('The caller went away before the stream was negotiated'))
    }
  }
}
