import { PENDING } from '../core/poll.ts'
import { BehaviourWrapper } from './wrapper.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { EventOf, MessageOf, WrappedBehaviour } from './inference.ts'
import type { BehaviourSource } from './network-behaviour.ts'
import type { ToSwarm } from './to-swarm.ts'

/** How {@link mapBehaviour} changes what passes. Both are called within a poll, and a throw is one of the behaviour's. */
export interface BehaviourMap<Inner, Event> {
  /** Maps what the behaviour emits. Default: as it is. */
  out?: ((event: EventOf<Inner>) => Event) | undefined
  /** Maps what the behaviour tells its handlers; a message that comes back undelivered is the mapped one. Default: as it is. */
  in?: ((message: MessageOf<Inner>) => MessageOf<Inner>) | undefined
}

/**
 * A behaviour with other events. Everything else passes as it is: gates, handlers, wakes, receipts (S7.15). On
 * `swarm.behaviours.KEY` the wrapped one is found as `inner`.
 *
 * @param inner - a behaviour, or a function of the node's components that makes one
 * @param map - what to change
 *
 * @example
 * const quiet = mapBehaviour(ping(), { out: event => event.type === 'pong' ? event.rttMs : Infinity })
 */
export function mapBehaviour<Inner extends BehaviourSource, Event = EventOf<Inner>> (
  inner: Inner, map: BehaviourMap<Inner, Event>
): WrappedBehaviour<Inner, Event> {
  return new MappedBehaviour(inner, map as AnyMap) as unknown as WrappedBehaviour<Inner, Event>
}

interface AnyMap {
  readonly out?: ((event: unknown) => unknown) | undefined
  readonly in?: ((message: unknown) => unknown) | undefined
}

class MappedBehaviour extends BehaviourWrapper {
  readonly #map: AnyMap

  constructor (inner: BehaviourSource, map: AnyMap) {
    super(inner)
    this.#map = map
  }

  override poll (cx: PollContext): Poll<ToSwarm<unknown, unknown>> {
    const output = super.poll(cx)
    const { in: mapIn, out: mapOut } = this.#map
    if (output === PENDING) {
      return PENDING
    }
    if (output.type === 'event' && mapOut !== undefined) {
      return { ...output, event: mapOut(output.event) }
    }
    return output.type === 'notify-handler' && mapIn !== undefined ? { ...output, event: mapIn(output.event) } : output
  }
}
