/// <reference lib="esnext.disposable" preserve="true" />
/** A foreign subscription, such as that of an observable. */
export interface Unsubscribable {
  /** Ends it. */
  unsubscribe (): void
}

/** What a container of subscriptions holds: a function, or an object with `unsubscribe()` or `[Symbol.dispose]()`. */
export type Child = (() => void) | Unsubscribable | Disposable

/**
 * Refuses what could not be ended later.
 *
 * @throws TypeError for a value of another shape
 */
export function checkChild (child: unknown): asserts child is Child {
  if (typeof child !== 'function' && !(isObject(child) && (isUnsubscribable(child) || isDisposable(child)))) {
    throw new TypeError(
      `Cannot add a subscription: it must be a function or have unsubscribe() or [Symbol.dispose](), received ${child === null ? 'null' : typeof child}`
    )
  }
}

/** Ends one child, in the way that it knows. What it throws is thrown. */
export function endChild (child: Child): void {
  if (typeof child === 'function') {
    child()
  } else if (isUnsubscribable(child)) {
    child.unsubscribe()
  } else {
    child[Symbol.dispose]()
  }
}

function isObject (value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isUnsubscribable (child: object): child is Unsubscribable {
  return 'unsubscribe' in child && typeof child.unsubscribe === 'function'
}

function isDisposable (child: object): child is Disposable {
  return Symbol.dispose in child && typeof child[Symbol.dispose] === 'function'
}
