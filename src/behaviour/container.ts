import type { AnyBehaviour } from './network-behaviour.ts'
import type { SwarmComponents } from './swarm-components.ts'

/**
 * The member by which a behaviour that holds others shows them to the node. A registered symbol, so that a composition
 * made by another copy of this package works as well.
 */
export const CONTAINER: unique symbol = Symbol.for('libp2p-behaviours.container')

/** A behaviour that holds others: a composition, or a wrapper. */
export interface Container {
  readonly [CONTAINER]: {
    /** A node takes the behaviour and what is inside it; called once. */
    attach (components: SwarmComponents): void
    /** What is inside, by key, in composition order; the key of a wrapped behaviour is empty. Only once attached. */
    parts (): ReadonlyMap<string, AnyBehaviour>
    /** What the application finds in its place (S7.16). Only once attached. */
    commands (): object
  }
}

/** Tells whether `behaviour` holds others. */
export function isContainer (behaviour: AnyBehaviour): behaviour is AnyBehaviour & Container {
  return CONTAINER in behaviour
}
