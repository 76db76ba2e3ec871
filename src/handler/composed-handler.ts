import type { ConnectionHandler } from './connection-handler.ts'

type Values<Of> = Of[keyof Of]
type Keys<Of> = keyof Of & string
type Member<Of, Key extends PropertyKey> = Key extends keyof Of ? Of[Key] : never
// Each is taken apart by member, so that an absent method gives never.
type Returned<Method> = Method extends (...args: never[]) => infer Result ? Result : never
type Told<Method> = Method extends (event: infer Event) => void ? Event : never
type Notified<Output> = Output extends { type: 'notify-behaviour', event: infer Event } ? Event : never

/** What the behaviour may tell this handler. */
export type FromBehaviourOf<Handler> = Told<Member<Handler, 'onBehaviourEvent'>>
/** What this handler tells its behaviour; read from `poll`, so it needs no other declaration. */
export type ToBehaviourOf<Handler> = Notified<Returned<Member<Handler, 'poll'>>>

type Keyed<Key extends string, Event> = [Event] extends [never] ? never : { readonly handler: Key, readonly event: Event }

/** An event of one part of a composition, by its key. */
export interface PartEvent {
  readonly handler: string
  readonly event: unknown
}

/** The events of `Handler` under `Key`; an optional part has those that it has when it is there. */
type In<Key extends string, Handler> = Keyed<Key, FromBehaviourOf<NonNullable<Handler>>>
type Out<Key extends string, Handler> = Keyed<Key, ToBehaviourOf<NonNullable<Handler>>>

/** How the parts of a composition change. Both methods may be called at any time, callbacks included. */
export interface ChangingParts<Parts> {
  /**
   * Adds a part, after all others. It is first told the protocols of both sides, then its own names are announced to all. When
   * the connection has begun to close, nothing is called any more.
   *
   * @throws InvalidStateError when the key is in use; that of a removed part is free at once
   */
  add<Key extends Keys<Parts>> (key: Key, handler: NonNullable<Parts[Key]>): void
  /**
   * Removes a part: its names leave the set, what it reported of the peer is withdrawn, its requests fail with kind `aborted`,
   * and streams that are agreed for it from now on are reset. It is told of its requests only, and its last events, from
   * `pollClose` or without that from `poll`, still come under its key. Streams that it has are left alone; messages to it come
   * back to their sender.
   *
   * @returns whether there was such a part
   */
  remove (key: Keys<Parts>): boolean
}

/** The handler that {@link composeHandlers} makes of `Parts`. */
export interface ComposedHandler<Parts> extends ChangingParts<Parts>, ConnectionHandler<
  Values<{ [Key in Keys<Parts>]-?: In<Key, Parts[Key]> }>,
  Values<{ [Key in Keys<Parts>]-?: Out<Key, Parts[Key]> }>
> {}
