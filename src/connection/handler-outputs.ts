import { PENDING } from '../core/poll.ts'
import { PART_LEFT, hopOf } from '../handler/route.ts'
import type { CancelOutboundRequest, HandlerOutput } from '../handler/connection-handler.ts'
import type { ConnectionStreams } from './connection-streams.ts'
import type { Outlet } from './outlet.ts'
import type { ProtocolSets } from './protocol-sets.ts'
import type { RootHandler } from './root-handler.ts'

/**
 * Takes in what the handler gives (step 3). One that always has something gets its share of a turn, and the rest of it in
 * the next one (S5.2).
 */
export class HandlerOutputs<Stream, FromBehaviour, ToBehaviour> {
  readonly #outlet: Outlet<Stream, ToBehaviour>
  readonly #root: RootHandler<FromBehaviour, ToBehaviour>
  readonly #sets: ProtocolSets<Stream, FromBehaviour, ToBehaviour>
  readonly #streams: ConnectionStreams<Stream, FromBehaviour, ToBehaviour>
  readonly #share: number
  #taken = 0
  #isStalled = false

  /**
   * @param share - most values in one turn
   */
  constructor (
    outlet: Outlet<Stream, ToBehaviour>,
    root: RootHandler<FromBehaviour, ToBehaviour>,
    sets: ProtocolSets<Stream, FromBehaviour, ToBehaviour>,
    streams: ConnectionStreams<Stream, FromBehaviour, ToBehaviour>,
    share: number
  ) {
    this.#outlet = outlet
    this.#root = root
    this.#sets = sets
    this.#streams = streams
    this.#share = share
  }

  /** The handler woke, and is not polled: what it wants is not known. */
  get isHeld (): boolean {
    return this.#isStalled && this.#root.isWoken
  }

  /** Takes nothing until {@link resume}. */
  stall (): void {
    this.#isStalled = true
  }

  /** Goes on; true when something was held. */
  resume (): boolean {
    const { isHeld } = this
    this.#isStalled = false
    return isHeld
  }

  /** Takes one value, if the handler woke and has one. */
  takeNext (): boolean {
    if (!this.#root.isWoken || this.#isStalled || this.#taken >= this.#share) {
      return false
    }
    const output = this.#root.poll(this.#outlet.now)
    if (output === PENDING) {
      return false
    }
    this.#taken++
    try {
      this.#take(output)
    } catch (thrown) {
      // An output is the author's object: to read it may throw.
      this.#root.failed('poll', thrown)
    }
    return true
  }

  /** The next turn has a share of its own. */
  endTurn (): void {
    if (this.#taken >= this.#share && this.#root.isWoken) {
      this.#outlet.meter?.yielded('handler-events')
    }
    this.#taken = 0
  }

  #take (output: HandlerOutput<ToBehaviour, unknown, unknown>): void {
    switch (output.type) {
      case 'notify-behaviour':
        this.#outlet.outputs.push({ type: 'handler-event', event: output.event })
        return
      case 'outbound-stream-request':
        this.#streams.outbound.request(output)
        return
      case 'cancel-outbound-request':
        this.#cancel(output)
        return
      case 'report-remote-protocols':
        this.#sets.report(hopOf(output) ?? this.#root, output.change, output.protocols)
    }
  }

  #cancel (output: CancelOutboundRequest): void {
    const hop = hopOf(output)
    if (output.token === PART_LEFT && hop !== undefined) {
      this.#streams.partLeft(hop)
      this.#sets.partLeft(hop)
    } else {
      this.#streams.outbound.cancel(output)
    }
  }
}
