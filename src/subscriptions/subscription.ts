/// <reference lib="esnext.disposable" preserve="true" />
import { AdaptiveSet } from './adaptive-set.ts'

/** A handle that ends a subscription. Also `Disposable`: `using` ends it with its scope. */
export interface Subscription extends Disposable {
  /** True once it has ended. */
  readonly closed: boolean
  /** Ends it; calling it again changes nothing. */
  unsubscribe (): void
}

/** Makes a subscription that calls `teardown` when it ends; what that throws, `unsubscribe` throws. */
export function subscription (teardown: () => void): Subscription {
  return new TeardownSubscription(teardown)
}

/** A container, as its members know it. */
export interface SubscriptionHolder {
  /** A member ended by itself: it is to be forgotten, not ended. */
  release (member: SubscriptionBase): void
}

/** A subscription that leaves every container that holds it, as soon as it ends (S8.14). */
export abstract class SubscriptionBase implements Subscription {
  #isClosed = false
  /** The first container; hardly any member is in a second one. */
  #holder: SubscriptionHolder | undefined
  #otherHolders: AdaptiveSet<SubscriptionHolder> | undefined

  get closed (): boolean {
    return this.#isClosed
  }

  unsubscribe (): void {
    if (this.close()) {
      this.onEnd()
    }
  }

  /** The same as `unsubscribe`, for `using`. */
  [Symbol.dispose] (): void {
    this.unsubscribe()
  }

  /**
   * Marks it as ended and leaves the containers; false when it had ended before. `onEnd` is left to the caller.
   *
   * @internal
   */
  close (): boolean {
    if (this.#isClosed) {
      return false
    }
    this.#isClosed = true
    const first = this.#holder
    const others = this.#otherHolders
    this.#holder = undefined
    this.#otherHolders = undefined
    first?.release(this)
    if (others !== undefined) {
      for (const holder of others.toArray()) {
        holder.release(this)
      }
    }
    return true
  }

  /**
   * A container took it in, which it does once.
   *
   * @internal
   */
  join (holder: SubscriptionHolder): void {
    if (this.#holder === undefined) {
      this.#holder = holder
    } else {
      this.#otherHolders ??= new AdaptiveSet()
      this.#otherHolders.add(holder)
    }
  }

  /**
   * A container let it go without ending it.
   *
   * @internal
   */
  leave (holder: SubscriptionHolder): void {
    if (this.#holder === holder) {
      this.#holder = undefined
    } else {
      this.#otherHolders?.delete(holder)
    }
  }

  /** What is to be done at the end; called once, after the subscription is `closed`. */
  protected abstract onEnd (): void
}

class TeardownSubscription extends SubscriptionBase {
  readonly #teardown: () => void

  constructor (teardown: () => void) {
    super()
    this.#teardown = teardown
  }

  protected override onEnd (): void {
    this.#teardown()
  }
}
