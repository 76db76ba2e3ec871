import { PENDING } from '../core/poll.ts'
import { HandlerWrapper } from './wrapper.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { FromBehaviourOf, ToBehaviourOf } from './composed-handler.ts'
import type { AnyHandler, ConnectionHandler } from './connection-handler.ts'
import type { RoutedHandler } from './route.ts'
import type { AnyOutput } from './wrapper.ts'

/** How {@link mapHandler} changes what passes. A throw is one of the handler's. */
export interface HandlerMap<Inner, FromBehaviour, ToBehaviour> {
  /** Maps what the behaviour says. Default: as it is. */
  in?: ((event: FromBehaviour) => FromBehaviourOf<Inner>) | undefined
  /** Maps what the handler tells its behaviour, last events included. Default: as it is. */
  out?: ((event: ToBehaviourOf<Inner>) => ToBehaviour) | undefined
}

/**
 * A handler with other events, in and out. Everything else passes as it is: names, streams, keep-alive, last events (S4.14).
 *
 * @param inner - the handler
 * @param map - what to change
 *
 * @example
 * mapHandler(new ChatHandler(), { in: (text: string) => ({ text }), out: event => ({ room: 1, event }) })
 */
export function mapHandler<Inner extends AnyHandler, FromBehaviour = FromBehaviourOf<Inner>, ToBehaviour = ToBehaviourOf<Inner>> (
  inner: Inner, map: HandlerMap<Inner, FromBehaviour, ToBehaviour>
): ConnectionHandler<FromBehaviour, ToBehaviour> {
  return new MappedHandler(inner, map as AnyMap) as unknown as ConnectionHandler<FromBehaviour, ToBehaviour>
}

interface AnyMap {
  readonly in?: ((event: unknown) => unknown) | undefined
  readonly out?: ((event: unknown) => unknown) | undefined
}

class MappedHandler extends HandlerWrapper {
  readonly #map: AnyMap

  constructor (inner: RoutedHandler, map: AnyMap) {
    super(inner)
    this.#map = map
  }

  override poll (cx: PollContext): Poll<AnyOutput> {
    const output = super.poll(cx)
    return output === PENDING ? PENDING : this.#mapped(output)
  }

  override onBehaviourEvent (event: unknown): unknown {
    return super.onBehaviourEvent(this.#map.in === undefined ? event : this.#map.in(event))
  }

  protected override pollLast (cx: PollContext): Poll<AnyOutput | undefined> {
    const output = super.pollLast(cx)
    return output === PENDING || output === undefined ? output : this.#mapped(output)
  }

  #mapped (output: AnyOutput): AnyOutput {
    const { out } = this.#map
    return output.type === 'notify-behaviour' && out !== undefined ? { ...output, event: out(output.event) } : output
  }
}
