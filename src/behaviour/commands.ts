import { CONTAINER, isContainer } from './container.ts'
import type { AnyBehaviour } from './network-behaviour.ts'

/**
 * What stands for `behaviour` on `swarm.behaviours` (S7.16): the behaviour itself, the parts of a composition by key, or
 * the commands of a wrapper beside what it wraps.
 */
export function commandsOf (behaviour: AnyBehaviour): object {
  return isContainer(behaviour) ? behaviour[CONTAINER].commands() : behaviour
}
