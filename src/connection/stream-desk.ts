import { toError } from '../core/to-error.ts'
import { HandlerFault } from '../handler/handler-fault.ts'
import { isCountedProtocol } from './counted-streams.ts'
import type { Poll } from '../core/poll.ts'
import type { FullyNegotiatedInbound, FullyNegotiatedOutbound } from '../handler/connection-handler.ts'
import type { Agreed } from '../negotiation/outcome.ts'
import type { NegotiationRole } from './connection-meter.ts'
import type { CountedStreams } from './counted-streams.ts'
import type { NegotiatingStream, NegotiationMachine, Ticket } from './negotiating-streams.ts'
import type { Outlet } from './outlet.ts'
import type { RootHandler } from './root-handler.ts'
import type { Disagreement } from './stream-failure.ts'

/** What came out of one step of a negotiation. */
export type Step<Match> = Poll<Agreed<Match> | Disagreement>

/** What inbound and outbound streams have in common: moving bytes, polling an upgrade, handing a stream over. */
export class StreamDesk<Stream, FromBehaviour, ToBehaviour> {
  readonly outlet: Outlet<Stream, ToBehaviour>
  readonly root: RootHandler<FromBehaviour, ToBehaviour>
  readonly counted: CountedStreams<Stream>

  constructor (outlet: Outlet<Stream, ToBehaviour>, root: RootHandler<FromBehaviour, ToBehaviour>, counted: CountedStreams<Stream>) {
    this.outlet = outlet
    this.root = root
    this.counted = counted
  }

  /** Sends what the machine has to say, leaves what it may not read yet to another turn, then asks how it stands. */
  negotiate<Match> (stream: NegotiatingStream<Stream, NegotiationMachine<Match>, Ticket>): Step<Match> {
    const { machine, port } = stream
    const bytes = machine.takeOutput()
    if (bytes !== undefined) {
      try {
        port.write(bytes)
      } catch (thrown) {
        stream.cause = thrown
        machine.handleWriteFailed()
      }
    }
    const kept = machine.takeKept()
    if (kept !== undefined) {
      this.outlet.meter?.yielded('frames')
      this.outlet.tellMuxer(() => { port.readLater(kept) })
    }
    return machine.pollOutcome()
  }

  /** A name was agreed: the stream is no longer read here. */
  accept (stream: NegotiatingStream<Stream, unknown, Ticket>, protocol: string): void {
    this.outlet.tellMuxer(() => { stream.port.accept(protocol) })
  }

  /** The peer agreed. */
  measure (role: NegotiationRole, { ticket }: { readonly ticket: Ticket }): void {
    this.outlet.meter?.negotiated(role, this.outlet.now - ticket.startedAt)
  }

  /** Puts bytes that came behind the negotiation in front of the reader (S2.30). */
  unread ({ port }: NegotiatingStream<Stream, unknown, Ticket>, rest: Uint8Array | undefined): void {
    if (rest !== undefined) {
      this.outlet.tellMuxer(() => { port.unread(rest) })
    }
  }

  /** Ends the stream, unless it has ended by itself. Its slot is free from now on. */
  reset (stream: NegotiatingStream<Stream, unknown, Ticket>, error: Error): void {
    stream.slot?.release()
    if (!stream.hasEnded) {
      stream.hasEnded = true
      this.outlet.tellMuxer(() => { stream.port.reset(error) })
    }
  }

  /** Tells the upgrade of a stream that it was in vain. */
  endUpgrade (stream: NegotiatingStream<Stream, unknown, Ticket>, reason: unknown): void {
    try {
      stream.endUpgrade(reason)
    } catch (thrown) {
      this.outlet.handlerError(HandlerFault.of(thrown, 'StreamUpgrade.end'))
    }
  }

  /**
   * Leaves a stream on one of the host's protocols to the host, whose own limits hold for it (S5.8); what is told is told after
   * its left-over bytes.
   */
  giveToHost (stream: NegotiatingStream<Stream, unknown, Ticket>, protocol: string, isInbound: boolean, rest: Uint8Array | undefined): void {
    if (!stream.hasEnded) {
      this.counted.add(stream.port, { isCounted: isCountedProtocol(protocol), isInbound, slot: undefined })
    }
    this.unread(stream, rest)
  }

  /**
   * Gives a negotiated stream to its handler, then the bytes that came behind the negotiation (S2.30). A throw harms this
   * stream only (S4.15).
   *
   * @returns false when its handler has left: the stream is for the caller to reset
   */
  handOver (
    stream: NegotiatingStream<Stream, unknown, Ticket>,
    event: FullyNegotiatedInbound<unknown, unknown, Stream> | FullyNegotiatedOutbound<unknown, unknown, Stream>,
    rest: Uint8Array | undefined
  ): boolean {
    const { port, slot } = stream
    if (stream.hasEnded) {
      slot?.release()
    } else {
      this.counted.add(port, { isCounted: true, isInbound: event.type === 'fully-negotiated-inbound', slot })
    }
    try {
      this.outlet.task(this.root.onStream(event), port)
    } catch (thrown) {
      const fault = HandlerFault.of(thrown, 'onConnectionEvent')
      this.counted.remove(port)
      if (fault.isRefusal) {
        return false
      }
      this.outlet.handlerError(fault)
      this.reset(stream, toError(fault.cause))
      return true
    }
    this.unread(stream, rest)
    return true
  }
}
