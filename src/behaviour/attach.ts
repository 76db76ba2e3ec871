import { InvalidStateError } from '../errors.ts'
import { CONTAINER, isContainer } from './container.ts'
import type { AnyBehaviour, BehaviourSource } from './network-behaviour.ts'
import type { SwarmComponents } from './swarm-components.ts'

const attached = new WeakSet<AnyBehaviour>()
/** Functions of options that make a behaviour, or a function that makes one, with their names. */
const makers = new WeakMap<object, string>()

/** Says that `maker` wants options: given uncalled, it would take the components of its node for them. */
export function takesOptions (maker: (options: never) => BehaviourSource, name: string): void {
  makers.set(maker, name)
}

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
  const place = key === '' ? '' : ` "${key}"`
  const behaviour: unknown = typeof source === 'function' ? make(source, components, place) : source
  if (!isBehaviour(behaviour)) {
    throw new TypeError(`Cannot use behaviour${place}: it must have commitEstablished(), or be a function that returns a behaviour`)
  }
  if (attached.has(behaviour)) {
    throw new InvalidStateError(`Cannot use behaviour${place} twice: one instance serves one node, give a function that makes one`)
  }
  attached.add(behaviour)
  if (isContainer(behaviour)) {
    behaviour[CONTAINER].attach(components)
  }
  return behaviour
}

function make (source: (components: SwarmComponents) => AnyBehaviour, components: SwarmComponents, place: string): unknown {
  const uncalled = makers.get(source)
  if (uncalled !== undefined) {
    throw new TypeError(`Cannot use behaviour${place}: ${uncalled} was given uncalled, write ${uncalled}(options)`)
  }
  return source(components)
}

function isBehaviour (value: unknown): value is AnyBehaviour {
  return typeof value === 'object' && value !== null && 'commitEstablished' in value && typeof value.commitEstablished === 'function'
}
