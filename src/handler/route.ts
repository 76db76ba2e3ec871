/**
 * How a connection and the compositions below it find the part that a stream belongs to (S4.13). Outputs and events carry
 * one hidden field, so authors never see it, and a wrapper that passes an event or an output on passes the route on too.
 */

import type { AnyHandler, ConnectionEvent, HandlerOutput } from './connection-handler.ts'
import type { StreamUpgrade } from './stream-upgrade.ts'

/** The hidden field. On an output and on an outbound event it holds a {@link Hop}, on an inbound event a listing. */
export const ROUTE: unique symbol = Symbol('libp2p-behaviours.route')

/**
 * One step from a composition to the part that an output came from, and what lies below it. Interned by the part, so one
 * path is one object: it tells the sources of remote reports and the owners of request tokens apart.
 */
export interface Hop {
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

/** A copy of `output` that remembers its maker; the author's own object, which may be frozen, is left alone. */
export function withHop<Output extends HandlerOutput<unknown, unknown, unknown>> (output: Output, hop: Hop): Output {
  return { ...output, [ROUTE]: hop }
}

/** The listing that an inbound event was agreed on. */
export function listingOf (event: object): Listing | undefined {
  return (event as Routed)[ROUTE] as Listing | undefined
}

/** Sets what the next composition on the way down will read. */
export function setRoute<Event extends ConnectionEvent<unknown, unknown>> (event: Event, route: Hop | Listing | undefined): Event {
  (event as Routed)[ROUTE] = route
  return event
}

/**
 * A handler as connections and compositions call it: with the listing as one more argument, which authors never declare,
 * and with an upgrade that may be left out, as the parts of a composition differ in that.
 */
export interface RoutedHandler extends Omit<AnyHandler, 'inboundInfo' | 'inboundUpgrade'> {
  inboundInfo? (protocol: string, listing?: Listing): unknown
  inboundUpgrade? (stream: unknown, protocol: string, listing?: Listing): StreamUpgrade<unknown> | undefined
}
