import { InvalidStateError } from '../errors.ts'
import type { AnyBehaviour, BehaviourSource } from './network-behaviour.ts'
import type { SwarmComponents } from './swarm-components.ts'

/**
 * The method by which a behaviour that holds others gives them to the node. A registered symbol, so that a composition
 * made by another copy of this package works as well.
 */
export const ATTACH: unique symbol = Symbol.for('libp2p-behaviours.attach')

/** A behaviour that holds others. */
export interface Attachable {
  [ATTACH] (components: SwarmComponents): void
}

const attached = new WeakSet<AnyBehaviour>()

/**
 * Gives a behaviour to its node, with everything inside it: functions of the components are called, once.
 *
 * @param source - a behaviour, or a function that makes one
 * @param components - what the node offers
 * @param key - where the behaviour stands in its composition, for messages. Default none
 * @throws TypeError when `source` neither is nor makes a behaviour
 * @throws InvalidStateError when the behaviour serves a node already: one instance serves one node (S7.13)
 */
export function attachBehaviour (source: BehaviourSource, components: SwarmComponents, key: string = ''): AnyBehaviour {
  const behaviour: unknown = typeof source === 'function' ? source(components) : source
  const place = key === '' ? '' : ` "${key}"`
  if (!isBehaviour(behaviour)) {
    throw new TypeError(`Cannot use behaviour${place}: it must have commitEstablished(), or be a function that returns a behaviour`)
  }
  if (attached.has(behaviour)) {
    throw new InvalidStateError(`Cannot use behaviour${place} twice: one instance serves one node, give a function that makes one`)
  }
  attached.add(behaviour)
  if (isAttachable(behaviour)) {
    behaviour[ATTACH](components)
  }
  return behaviour
}

function isBehaviour (value: unknown): value is AnyBehaviour {
  return typeof value === 'object' && value !== null && 'commitEstablished' in value && typeof value.commitEstablished === 'function'
}

function isAttachable (behaviour: AnyBehaviour): behaviour is AnyBehaviour & Attachable {
  return ATTACH in behaviour
}
