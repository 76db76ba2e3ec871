/**
 * How a connection and the compositions below it find the part that a stream belongs to (S4.13), and what else they say to
 * each other behind the authors' backs. Outputs and events carry one hidden field, so a wrapper that passes an event or an
 * output on passes the route on too.
 */

import { PENDING } from '../core/poll.ts'
import { checkLast, checkOutput } from './check-output.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { AnyHandler, ConnectionEvent, HandlerOutput } from './connection-handler.ts'
import type { StreamUpgrade } from './stream-upgrade.ts'

/** The hidden field. On an output and on an outbound event it holds a {@link Hop}, on an inbound event a listing. */
const ROUTE: unique symbol = Symbol('libp2p-behaviours.route')

/** Names the method {@link RoutedHandler} for the last outputs of a composition. */
export const POLL_LAST: unique symbol = Symbol('libp2p-behaviours.poll-last')

/** Names the method {@link RoutedHandler} that ends a composition. */
export const RELEASE: unique symbol = Symbol('libp2p-behaviours.release')

/** Names the method {@link RoutedHandler} that gives a composition its context before its first poll. */
export const ATTACH: unique symbol = Symbol('libp2p-behaviours.attach')

/** Names the method {@link RoutedHandler} that tells whether the owner of a name has left its composition since. */
export const HAS_LEFT: unique symbol = Symbol('libp2p-behaviours.has-left')

/** Names the field {@link RoutedContext} of the protocol sets of the connection. */
export const SETS: unique symbol = Symbol('libp2p-behaviours.sets')

/**
 * The token of a `cancel-outbound-request` with which a composition tells the connection that a part has left: all requests of
 * that part are meant, with what it reported of the peer and the upgrades of its inbound streams.
 */
export const PART_LEFT: unique symbol = Symbol('libp2p-behaviours.part-left')

/**
 * One step from a composition to the part that an output came from, and what lies below it. Interned by the part, so one
 * path is one object: it tells the sources of remote reports and the owners of request tokens apart.
 */
export interface Hop {
  /** The part that the step leads to; told by identity, as a key may be used again. */
  readonly part: object
  /** Keys from here down, joined with dots. */
  readonly path: string
  /** The rest of the way, when the part is a composition itself. */
  readonly inner: Hop | undefined
}

/** Where an inbound stream was agreed: the listing in force when the stream arrived. */
export type Listing = readonly string[]

interface Routed {
  [ROUTE]?: Hop | Listing | undefined
}

/** The way back to the maker of `output`; undefined for a handler that is no composition. */
export function hopOf (output: object): Hop | undefined {
  return (output as Routed)[ROUTE] as Hop | undefined
}

/** The listing that an inbound event was agreed on. */
export function listingOf (event: object): Listing | undefined {
  return (event as Routed)[ROUTE] as Listing | undefined
}

/** Whether `hop` is `top`, or leads further below it. */
export function isUnder (hop: Hop | undefined, top: Hop): boolean {
  let at = hop
  for (let step: Hop | undefined = top; step !== undefined; step = step.inner) {
    if (at?.part !== step.part) {
      return false
    }
    at = at.inner
  }
  return true
}

/** The names of both sides of a connection, as they are in force. */
export interface BothSets {
  readonly local: { toArray (): readonly string[] }
  readonly remote: { toArray (): readonly string[] }
}

/** A poll context as connections and compositions make it. */
export interface RoutedContext extends PollContext {
  readonly [SETS]?: BothSets | undefined
}

/** The protocol sets of the connection that `cx` belongs to; undefined if it is the context of a wrapper of another make. */
export function setsOf (cx: RoutedContext | undefined): BothSets | undefined {
  return cx?.[SETS]
}

type Passed = HandlerOutput<unknown, unknown, unknown> | ConnectionEvent<unknown, unknown>

/**
 * A copy of `passed` for the next composition on its way; the author's own object, which may be frozen, is left alone. Made
 * without a spread, which takes several times as long for objects of so many kinds.
 */
export function withRoute<Kind extends Passed> (passed: Kind, route: Hop | Listing | undefined): Kind {
  return routed(Object.assign({}, passed), route)
}

/** Gives `made`, which nobody else has yet, its route. */
export function routed<Kind extends Passed> (made: Kind, route: Hop | Listing | undefined): Kind {
  const hidden: Kind & Routed = made
  hidden[ROUTE] = route
  return made
}

/**
 * A handler as connections and compositions call it: with the listing as one more argument, which authors never declare,
 * with an upgrade that may be left out, as the parts of a composition differ in that, and with what only compositions have.
 */
export interface RoutedHandler extends Omit<AnyHandler, 'inboundInfo' | 'inboundUpgrade' | 'onBehaviourEvent'> {
  inboundInfo? (protocol: string, listing?: Listing): unknown
  inboundUpgrade? (stream: unknown, protocol: string, listing?: Listing): StreamUpgrade<unknown> | undefined
  /** What an author's handler returns means nothing. */
  onBehaviourEvent? (event: unknown): unknown
  /** As {@link pollLast}. */
  [POLL_LAST]? (cx: PollContext): Poll<HandlerOutput<unknown, unknown, unknown> | undefined>
  /** The connection closes: no `ProtocolList` is to wake any part of it. */
  [RELEASE]? (): void
  /** It is on a connection, with `cx` as the context of its polls. */
  [ATTACH]? (cx: PollContext): void
  /** Whether the part that owned `protocol` by `listing` has left. */
  [HAS_LEFT]? (protocol: string, listing?: Listing): boolean
}

/** The next event among the last outputs, for wrappers of other makes; what else is asked for is not heard. */
export function lastEventOf<Event> (next: () => Poll<HandlerOutput<Event, unknown, unknown> | undefined>): Poll<Event | undefined> {
  for (;;) {
    const output = next()
    if (output === PENDING || output === undefined) {
      return output
    }
    if (output.type === 'notify-behaviour') {
      return output.event
    }
  }
}

/**
 * The next output of a handler whose connection closes, or undefined when it has ended. Without `pollClose` it is drained
 * through `poll`, so that neither its events nor its requests are lost without a word (S4.11, S5.5).
 */
export function pollLast (handler: RoutedHandler, cx: PollContext): Poll<HandlerOutput<unknown, unknown, unknown> | undefined> {
  if (handler[POLL_LAST] !== undefined) {
    return handler[POLL_LAST](cx)
  }
  if (handler.pollClose !== undefined) {
    const event = checkLast(handler.pollClose(cx))
    return event === PENDING || event === undefined ? event : { type: 'notify-behaviour', event }
  }
  const output = handler.poll === undefined ? PENDING : checkOutput(handler.poll(cx))
  return output === PENDING ? undefined : output
}
