import { CONTAINER, isContainer } from './container.ts'
import type { AnyBehaviour } from './network-behaviour.ts'

/** What stands for `behaviour` on `swarm.behaviours`: the behaviour itself, or the parts of a composition by key (S7.16). */
export function commandsOf (behaviour: AnyBehaviour): object {
  if (!isContainer(behaviour)) {
    return behaviour
  }
  return Object.freeze(Object.fromEntries(Array.from(behaviour[CONTAINER].parts(), ([key, part]) => [key, commandsOf(part)])))
}
