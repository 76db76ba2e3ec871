import type { AnyBehaviour } from './network-behaviour.ts'

/** The getter by which a behaviour that holds others shows theirs, so that they are found by key (S7.16). */
export const COMMANDS: unique symbol = Symbol.for('libp2p-behaviours.commands')

/** A behaviour whose commands are those of its parts. */
export interface HasCommands {
  readonly [COMMANDS]: Readonly<Record<string, object>>
}

/** What stands for `behaviour` on `swarm.behaviours`: the behaviour itself, or the parts of a composition by key. */
export function commandsOf (behaviour: AnyBehaviour): object {
  return hasCommands(behaviour) ? behaviour[COMMANDS] : behaviour
}

function hasCommands (behaviour: AnyBehaviour): behaviour is AnyBehaviour & HasCommands {
  return COMMANDS in behaviour
}
