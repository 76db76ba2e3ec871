import { Outbox } from '../handler/outbox.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { ConnectionEvent, ConnectionHandler, HandlerOutput, OutboundStreamRequest, ProtocolsChanged } from '../handler/connection-handler.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'

/** What a handler was told, in a form that stays valid: a change of protocols is written down as plain names. */
export type RecordedEvent =
  | Exclude<ConnectionEvent<unknown, unknown>, ProtocolsChanged>
  | { readonly type: 'local-protocols-change' | 'remote-protocols-change', readonly change: 'added' | 'removed', readonly protocols: readonly string[] }

/**
 * A handler for tests: it offers what the test sets, sends what the test pushes, and writes down all that it is told.
 *
 * Its listing is read when it is polled, told or woken: after setting `protocols` call {@link wake}, or push something.
 */
export class RecordingHandler implements ConnectionHandler<unknown, unknown, unknown, unknown> {
  /** What it accepts. */
  protocols: ProtocolListing
  /** Whether it holds the connection open. */
  isKeepAlive = false
  /** What it was told, oldest first. */
  readonly events: RecordedEvent[] = []
  /** What its behaviour told it, oldest first. */
  readonly behaviourEvents: unknown[] = []
  /** Polls so far. */
  polls = 0
  /** Called with every event after it was written down; may throw, or return a promise. */
  onEvent: ((event: ConnectionEvent<unknown, unknown>) => void | PromiseLike<void>) | undefined
  readonly #outbox = new Outbox<HandlerOutput<unknown, unknown, unknown>>()
  #cx: PollContext | undefined

  /**
   * @param protocols - what it accepts at first. Default nothing
   */
  constructor (protocols: ProtocolListing = []) {
    this.protocols = protocols
  }

  /** Sends `output` at the next poll. */
  push (output: HandlerOutput<unknown, unknown, unknown>): void {
    this.#outbox.push(output)
  }

  /** Asks for a stream. */
  request (protocols: readonly string[], options: Omit<OutboundStreamRequest<unknown, unknown>, 'type' | 'protocols'> = {}): void {
    this.push({ type: 'outbound-stream-request', protocols, info: undefined, ...options })
  }

  /** Asks for a poll. */
  wake (): void {
    this.#cx?.wake()
  }

  /** The recorded events of one type, oldest first. */
  eventsOf<Type extends RecordedEvent['type']> (type: Type): Array<Extract<RecordedEvent, { type: Type }>> {
    return this.events.filter((event): event is Extract<RecordedEvent, { type: Type }> => event.type === type)
  }

  listenProtocols (): ProtocolListing {
    return this.protocols
  }

  keepAlive (): boolean {
    return this.isKeepAlive
  }

  poll (cx: PollContext): Poll<HandlerOutput<unknown, unknown, unknown>> {
    this.#cx = cx
    this.polls++
    return this.#outbox.poll(cx)
  }

  onConnectionEvent (event: ConnectionEvent<unknown, unknown>): void | PromiseLike<void> {
    this.events.push(recorded(event))
    return this.onEvent?.(event)
  }

  onBehaviourEvent (event: unknown): void {
    this.behaviourEvents.push(event)
  }
}

/** Makes a {@link RecordingHandler}. */
export function recordingHandler (protocols: ProtocolListing = []): RecordingHandler {
  return new RecordingHandler(protocols)
}

function recorded (event: ConnectionEvent<unknown, unknown>): RecordedEvent {
  switch (event.type) {
    case 'local-protocols-change':
    case 'remote-protocols-change':
      return { type: event.type, change: event.change.type, protocols: event.change.protocols.toArray() }
    case 'fully-negotiated-inbound':
    case 'fully-negotiated-outbound':
    case 'dial-upgrade-error':
    case 'listen-upgrade-error':
    case 'address-change':
      return event
  }
}
