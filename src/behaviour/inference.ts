/**
 * What the types of a record of behaviours say about the events and commands of the whole. Everything is read from the
 * methods of the parts, so no part needs a declaration.
 */

import type { PeerId } from '@libp2p/interface'
import type { ConnectionId, Direction } from '../core/ids.ts'
import type { ConnectionDenied, GateStage } from './connection-denied.ts'
import type { NetworkBehaviour } from './network-behaviour.ts'

type Values<Of> = Of[keyof Of]
type Keys<Of> = keyof Of & string
type Member<Of, Key extends PropertyKey> = Key extends keyof Of ? Of[Key] : never
type Returned<Method> = Method extends (...args: never[]) => infer Result ? Result : never
type EventField<Output, Type extends string> = Output extends { type: Type, event: infer Event } ? Event : never

/** The behaviour that a source is, or makes. */
export type BehaviourOf<Source> = Source extends (components: never) => infer Behaviour ? Behaviour : Source

/** What a behaviour emits, from what its `poll` returns; `never` for one that emits nothing. */
export type EventOf<Source> = EventField<Returned<Member<BehaviourOf<Source>, 'poll'>>, 'event'>

/** What a behaviour tells its handlers, from what its `poll` returns. */
export type MessageOf<Source> = EventField<Returned<Member<BehaviourOf<Source>, 'poll'>>, 'notify-handler'>

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
export interface ComposedBehaviour<Parts> extends NetworkBehaviour<BehaviourEvent<Parts>, unknown, unknown, Error> {
  /** The record as it was given. */
  readonly parts: Parts
}

/** A behaviour around another one. */
export interface WrappedBehaviour<Inner, Event = EventOf<Inner>> extends NetworkBehaviour<Event, unknown, unknown, Error> {
  /** The behaviour, or the function that makes it, as it was given. */
  readonly inner: Inner
}

/** A behaviour that may be switched off and on (S7.14). */
export interface Toggle<Inner> extends WrappedBehaviour<Inner> {
  /** Whether it is on. */
  readonly enabled: boolean
  /** Switches it on: its names come back, and connections made meanwhile pass its gate; one that it denies is aborted. */
  enable (): void
  /** Switches it off: its names go, its requests fail with `aborted`, and negotiated streams are left alone. */
  disable (): void
}

/**
 * What an application finds on `swarm.behaviours.KEY` (S7.16): the behaviour itself, without the members of the contract.
 * Its public methods are its commands. A nested composition appears as its keys, a wrapper has what it wraps as `inner`.
 */
export type Commands<Source> = CommandsOf<BehaviourOf<Source>>
type CommandsOf<Behaviour> =
  Behaviour extends ComposedBehaviour<infer Parts>
    ? { readonly [Key in keyof Parts]: Commands<Parts[Key]> }
    : Behaviour extends WrappedBehaviour<infer Inner, unknown>
      ? Omit<Behaviour, keyof NetworkBehaviour | 'inner'> & { readonly inner: Commands<Inner> }
      : Omit<Behaviour, keyof NetworkBehaviour>

type Gate = 'checkPending' | 'commitPending' | 'checkEstablished' | 'commitEstablished'
type DeniedBy<Method> = Awaited<Returned<Method>> extends infer Answer ? Answer extends ConnectionDenied<infer Cause> ? Cause : never : never
type CauseOf<Behaviour> = Values<{ [Key in Gate]: DeniedBy<Member<Behaviour, Key>> }>
type DenialsOf<Behaviour, Path extends string> =
  Behaviour extends ComposedBehaviour<infer Parts> ? Values<{ [Key in Keys<Parts>]: DenialsOf<BehaviourOf<Parts[Key]>, `${Path}.${Key}`> }>
    : Behaviour extends WrappedBehaviour<infer Inner, unknown> ? DenialsOf<BehaviourOf<Inner>, Path>
      : [CauseOf<Behaviour>] extends [never] ? never : DeniedAt<Path, CauseOf<Behaviour>>

/** A connection was denied by the behaviour at `Path` (S7.6). */
export interface DeniedAt<Path extends string, Cause> {
  readonly type: 'connection-denied'
  /** The keys of the behaviour, joined with dots: they tell the type of `cause`. */
  readonly behaviour: Path
  readonly stage: GateStage
  readonly direction: Direction
  readonly cause: Cause
  /** The id that the connection would have had; undefined for a dial of other code of the node, which was only checked. */
  readonly connection: ConnectionId | undefined
  /** Undefined: it was not known yet. */
  readonly peer: PeerId | undefined
}

/**
 * Any denial by a record of behaviours: `if (denial.behaviour === 'group.limits') denial.cause.limit`. Only what gates
 * return is typed: one that threw, rejected or was late denies with what it threw, or with a `TimeoutError`, told by `name`.
 */
export type Denial<Parts> = Values<{ [Key in Keys<Parts>]: DenialsOf<BehaviourOf<Parts[Key]>, Key> }>
