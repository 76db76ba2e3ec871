/**
 * Subscriptions: containers that are disposed as one, and the fan-out of events to many subscribers. Synchronous, with neither
 * clocks nor promises, and usable alone.
 *
 * @module subscriptions
 */

export { CompositeSubscription } from './composite-subscription.ts'
export type { CompositeSubscriptionInit } from './composite-subscription.ts'
export type { SetThresholds } from './adaptive-set.ts'
export type { Child, Unsubscribable } from './child.ts'
export { EventHub } from './event-hub.ts'
export type { EventCallback } from './event-hub.ts'
export { FilteredHub } from './filtered-hub.ts'
export type { Filter, Topic } from './filtered-hub.ts'
export type { Key } from './pattern-tree.ts'
export { SubscriptionBase, subscription } from './subscription.ts'
export type { Subscription, SubscriptionHolder } from './subscription.ts'
