import { NEVER } from '../core/instant.ts'
import { PENDING } from '../core/poll.ts'
import { NegotiatingStreams } from './negotiating-streams.ts'
import { errorOf, timeoutOf } from './stream-failure.ts'
import type { Instant } from '../core/instant.ts'
import type { StreamFailure } from '../errors.ts'
import type { DialerNegotiation } from '../negotiation/dialer-negotiation.ts'
import type { StreamPort } from './muxer-port.ts'
import type { NegotiatingStream, NegotiatingStreamsOwner, Ticket } from './negotiating-streams.ts'
import type { StreamDesk } from './stream-desk.ts'
import type { StreamError } from './stream-failure.ts'

/** The part of a {@link StreamDesk} that does not depend on the handler. */
type Desk<Stream> = Pick<StreamDesk<Stream, unknown, unknown>, 'outlet' | 'negotiate' | 'accept' | 'measure' | 'unread'>

/** Who hears that the peer did not agree: it is to reset the stream, which is no longer here. */
export interface UnconfirmedStreamsUser<Stream> {
  refusedLater (port: StreamPort<Stream>, error: StreamError): void
}

type Unconfirmed<Stream> = NegotiatingStream<Stream, DialerNegotiation, Ticket>

/**
 * Streams that were opened lazily, from hand-over until the peer has agreed (S2.25 to S2.28). They hold no slot. Their users
 * write as they like and close without waiting; nothing is read before the answer is checked, and a bad one, or none by the
 * deadline of the request, is the end of the stream.
 */
export class UnconfirmedStreams<Stream> {
  readonly #desk: Desk<Stream>
  readonly #owner: NegotiatingStreamsOwner
  readonly #user: UnconfirmedStreamsUser<Stream>
  /** There while there are any: most connections never have one. */
  #streams: NegotiatingStreams<Stream, DialerNegotiation, Ticket> | undefined

  /**
   * @param owner - hears of deadlines, and of answers that came
   * @param desk - what it has in common with other streams
   * @param user - hears of refusals
   */
  constructor (owner: NegotiatingStreamsOwner, desk: Desk<Stream>, user: UnconfirmedStreamsUser<Stream>) {
    this.#desk = desk
    this.#owner = owner
    this.#user = user
  }

  /** The stream of `port`, if the peer has yet to agree. */
  get (port: StreamPort<Stream>): Unconfirmed<Stream> | undefined {
    return this.#streams?.get(port)
  }

  /** The stream is about to be handed over as one that speaks `protocol`. */
  add ({ port, machine, ticket }: Pick<Unconfirmed<Stream>, 'port' | 'machine' | 'ticket'>, protocol: string): void {
    machine.flush()
    const opening = machine.takeOutput()
    this.#streams ??= new NegotiatingStreams(this.#owner, 'unconfirmed')
    this.#streams.add(port, machine, ticket)
    if (opening !== undefined) {
      this.#desk.outlet.tellMuxer(() => { port.assume(protocol, opening) })
    }
  }

  /** The stream has ended, or is about to be reset: there is nothing to check any more. */
  remove (port: StreamPort<Stream>): void {
    const stream = this.get(port)
    if (stream !== undefined) {
      this.#remove(stream)
    }
  }

  /** Step 5: looks at the answer of one stream. */
  advance (): boolean {
    const stream = this.#streams?.nextWoken()
    if (stream === undefined) {
      return false
    }
    const outcome = this.#desk.negotiate(stream)
    if (outcome === PENDING) {
      return true
    }
    this.#remove(stream)
    if (outcome.type === 'ok') {
      this.#desk.accept(stream, outcome.protocol)
      this.#desk.measure('dialer-lazy', stream)
      this.#desk.unread(stream, outcome.rest)
    } else {
      this.#user.refusedLater(stream.port, errorOf(outcome, this.#failureOf(stream)))
    }
    return true
  }

  /** Step 2: ends the streams whose peer did not answer in time. */
  expire (now: Instant): void {
    for (const stream of this.#streams?.expired(now) ?? []) {
      this.#remove(stream)
      this.#user.refusedLater(stream.port, timeoutOf(this.#failureOf(stream)))
    }
  }

  /** The connection has ended, and all streams with it. */
  clear (): void {
    for (const stream of this.#streams?.all() ?? []) {
      this.#remove(stream)
    }
  }

  /** The earliest deadline of all streams here. */
  nextDeadline (): Instant {
    return this.#streams?.nextDeadline() ?? NEVER
  }

  #remove (stream: Unconfirmed<Stream>): void {
    this.#streams?.remove(stream)
    if (this.#streams?.size === 0) {
      this.#streams = undefined
    }
  }

  #failureOf ({ machine, ticket }: Unconfirmed<Stream>): StreamFailure {
    return this.#desk.outlet.failure(machine.phase, machine.tried, 'outbound', ticket.startedAt)
  }
}
