import { PENDING } from '../core/poll.ts'
import { HandlerFault } from '../handler/handler-fault.ts'
import type { Poll } from '../core/poll.ts'
import type { FullyNegotiatedInbound, FullyNegotiatedOutbound } from '../handler/connection-handler.ts'
import type { Agreed } from '../negotiation/outcome.ts'
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

  /** Sends what the machine has to say, then asks how it stands. */
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
    return machine.pollOutcome()
  }

  /**
   * Asks an upgrade for its output.
   *
   * @throws HandlerFault with whatever the upgrade threw
   */
  pollUpgrade (stream: NegotiatingStream<Stream, unknown, Ticket>): Poll<{ readonly output: unknown }> {
    stream.now = this.outlet.now
    try {
      const output = stream.upgrading?.upgrade.poll(stream)
      return output === PENDING ? PENDING : { output }
    } catch (thrown) {
      throw HandlerFault.of(thrown, 'StreamUpgrade.poll')
    }
  }

  /**
   * Gives a negotiated stream to its handler, then the bytes that came behind the negotiation (S2.30). A throw harms this
   * stream only (S4.15).
   */
  handOver (
    stream: NegotiatingStream<Stream, unknown, Ticket>,
    event: FullyNegotiatedInbound<unknown, unknown, Stream> | FullyNegotiatedOutbound<unknown, unknown, Stream>,
    rest: Uint8Array | undefined
  ): void {
    const { port } = stream
    if (!stream.hasEnded) {
      this.counted.add(port, true)
    }
    try {
      this.outlet.task(this.root.onStream(event), port)
    } catch (thrown) {
      const fault = HandlerFault.of(thrown, 'onConnectionEvent')
      this.outlet.handlerError(fault)
      this.counted.remove(port)
      stream.reset(asError(fault.cause))
      return
    }
    if (rest !== undefined) {
      port.unread(rest)
    }
  }
}

/** User code may throw anything; a stream is reset with an error. */
export function asError (thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`Not an error was thrown: ${String(thrown)}`, { cause: thrown })
}
