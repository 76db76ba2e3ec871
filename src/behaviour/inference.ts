/**
 * What the types of a record of behaviours say about the events and commands of the whole. Everything is read from the
 * methods of the parts, so no part needs a declaration.
 */

import type { PeerId } from '@libp2p/interface'
import type { ConnectionId } from '../core/ids.ts'
import type { NetworkBehaviour } from './network-behaviour.ts'

type Values<Of> = Of[keyof Of]
type Keys<Of> = keyof Of & string
type Member<Of, Key extends PropertyKey> = Key extends keyof Of ? Of[Key] : never
type Returned<Method> = Method extends (...args: never[]) => infer Result ? Result : never
type EventField<Output> = Output extends { type: 'event', event: infer Event } ? Event : never

/** The behaviour that a source is, or makes. */
export type BehaviourOf<Source> = Source extends (components: never) => infer Behaviour ? Behaviour : Source

/** What a behaviour emits, from what its `poll` returns; `never` for one that emits nothing. */
export type EventOf<Source> = EventField<Returned<Member<BehaviourOf<Source>, 'poll'>>>

/** One event of the part `Key`, as the application gets it. */
export interface KeyedEvent<Key extends string, Event> {
  readonly behaviour: Key
  /** Whom it is about; an event about no one peer carries the node's own id (S7.13). */
  readonly peer: PeerId
  readonly connection: ConnectionId | undefined
  readonly event: Event
}
type Emitted<Key extends string, Event> = [Event] extends [never] ? never : KeyedEvent<Key, Event>

/** Any event of a record of behaviours; `behaviour` tells the type of `event`. */
export type BehaviourEvent<Parts> = Values<{ [Key in Keys<Parts>]: Emitted<Key, EventOf<Parts[Key]>> }>

/** The behaviour that `composeBehaviours` makes of `Parts`. */
export interface ComposedBehaviour<Parts> extends NetworkBehaviour<BehaviourEvent<Parts>, unknown, unknown> {
  /** The record as it was given. */
  readonly parts: Parts
}

/**
 * What an application finds on `swarm.behaviours.KEY` (S7.16): the behaviour itself, without the members of the contract.
 * Its public methods are its commands. A nested composition appears as its keys.
 */
export type Commands<Source> = CommandsOf<BehaviourOf<Source>>
type CommandsOf<Behaviour> =
  Behaviour extends ComposedBehaviour<infer Parts>
    ? { readonly [Key in keyof Parts]: Commands<Parts[Key]> }
    : Omit<Behaviour, keyof NetworkBehaviour>
