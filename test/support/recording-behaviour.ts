import { Outbox } from '../../src/handler/outbox.ts'
import { RecordingHandler } from '../../src/testing/recording-handler.ts'
import type { Denied } from '../../src/behaviour/connection-denied.ts'
import type { AnyHandler } from '../../src/behaviour/connection-handler.ts'
import type { FromSwarm } from '../../src/behaviour/from-swarm.ts'
import type { EstablishedConnection, NetworkBehaviour } from '../../src/behaviour/network-behaviour.ts'
import type { ToSwarm } from '../../src/behaviour/to-swarm.ts'
import type { Poll, PollContext } from '../../src/core/poll.ts'
import type { ProtocolListing } from '../../src/protocols/protocol-list.ts'

/** A behaviour for tests: it says what the test pushes, and writes down all that it is told. */
export class RecordingBehaviour implements NetworkBehaviour<unknown, unknown, unknown, Error> {
  readonly protocols?: ProtocolListing
  /** What it was told by the swarm, oldest first. */
  readonly swarmEvents: FromSwarm[] = []
  /** What its handlers told it, oldest first. */
  readonly handlerEvents: Array<{ peer: string, connection: string, event: unknown }> = []
  /** Its handlers by connection. */
  readonly handlers = new Map<string, RecordingHandler>()
  /** Polls so far. */
  polls = 0
  /** Makes the handler; may give none, or throw. */
  makeHandler: (connection: EstablishedConnection) => AnyHandler | Denied<Error> = () => new RecordingHandler()
  /** Called in every poll, after the count; may throw. */
  onPoll: (cx: PollContext) => void = () => {}
  /** Called for whatever it is told, after it was written down; may throw. */
  onTold: () => void = () => {}
  /** Its context, once it was polled. */
  cx: PollContext | undefined
  readonly #outbox = new Outbox<ToSwarm<unknown, unknown>>()

  constructor (protocols?: ProtocolListing) {
    if (protocols !== undefined) {
      this.protocols = protocols
    }
  }

  push (...outputs: Array<ToSwarm<unknown, unknown>>): void {
    for (const output of outputs) {
      this.#outbox.push(output)
    }
  }

  /** Emits events about nobody. */
  emit (...events: unknown[]): void {
    this.push(...events.map(event => ({ type: 'event', event } as const)))
  }

  commitEstablished (connection: EstablishedConnection): AnyHandler | Denied<Error> {
    const handler = this.makeHandler(connection)
    if (handler instanceof RecordingHandler) {
      this.handlers.set(connection.id, handler)
    }
    return handler
  }

  onSwarmEvent (event: FromSwarm): void {
    this.swarmEvents.push(event)
    this.onTold()
  }

  onHandlerEvent (peer: { toString (): string }, connection: string, event: unknown): void {
    this.handlerEvents.push({ peer: peer.toString(), connection, event })
    this.onTold()
  }

  poll (cx: PollContext): Poll<ToSwarm<unknown, unknown>> {
    this.cx = cx
    this.polls++
    this.onPoll(cx)
    return this.#outbox.poll(cx)
  }
}
