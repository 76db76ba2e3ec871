import type { Libp2pEvents, TypedEventTarget } from '@libp2p/interface'

/**
 * Listens to one kind of event of the node. What `callback` throws goes to `onError`: out of a listener it would end the
 * process (HOST 1, rule 9).
 */
export function listenToHost<Type extends keyof Libp2pEvents> (
  events: TypedEventTarget<Libp2pEvents>, type: Type, callback: (detail: Libp2pEvents[Type]['detail']) => void, onError: (cause: unknown) => void
): void {
  events.addEventListener(type, ({ detail }) => {
    try {
      callback(detail)
    } catch (cause) {
      onError(cause)
    }
  })
}
