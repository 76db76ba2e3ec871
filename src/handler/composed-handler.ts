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

/** The handler that {@link composeHandlers} makes of `Parts`. */
export type ComposedHandler<Parts> = ConnectionHandler<
  Values<{ [Key in Keys<Parts>]: Keyed<Key, FromBehaviourOf<Parts[Key]>> }>,
  Values<{ [Key in Keys<Parts>]: Keyed<Key, ToBehaviourOf<Parts[Key]>> }>
>
