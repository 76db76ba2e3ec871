/**
 * Many subscriptions as one.
 *
 * ```
 *             add                 clear, dispose
 *  (outside) ------------> held ------------------> ending --> ended, each once
 *      ^                    |
 *      +--------------------+ detach; remove, and an end of its own (both ended as well)
 * ```
 *
 * 1. Held once: adding again changes nothing, nor does adding what is about to end (`ending`).
 * 2. `clear` and `dispose` first move all that is held to `ending`, then end it in order of insertion. Whatever a teardown
 *    does to the container meets an empty one. A `clear` inside a teardown ends the rest at once; nobody is ended twice.
 * 3. Containers within containers are ended with a stack, not by recursion, so depth and rings cost no call frames.
 */

import { AdaptiveSet, DEFAULT_THRESHOLDS, parseThresholds } from './adaptive-set.ts'
import { checkChild, endChild } from './child.ts'
import { SubscriptionBase } from './subscription.ts'
import type { SetThresholds } from './adaptive-set.ts'
import type { Child } from './child.ts'
import type { Subscription, SubscriptionHolder } from './subscription.ts'

/** Tuning of a {@link CompositeSubscription}; what is left out takes its measured default. */
export type CompositeSubscriptionInit = { readonly [Name in keyof SetThresholds]?: SetThresholds[Name] | undefined }

/**
 * A container of subscriptions that is disposed as one. `add`, `remove` and `detach` cost the same whatever it holds: it is
 * an array while it is small, and a hash set when it is large. Subscriptions of this package leave it when they end by
 * themselves; functions and foreign objects cannot tell, and are taken out with `detach`.
 */
export class CompositeSubscription extends SubscriptionBase implements Subscription, SubscriptionHolder {
  readonly #thresholds: SetThresholds
  #children: AdaptiveSet<Child>
  /** Taken out to be ended, and not ended yet; only while that goes on. */
  #ending: AdaptiveSet<Child> | undefined

  /**
   * @param init - thresholds between array and set
   * @throws TypeError for an unknown option, or one that is no number
   * @throws RangeError for one that is no count, or when `arrayBelow` is above `setAbove`
   */
  constructor (init?: CompositeSubscriptionInit) {
    super()
    this.#thresholds = init === undefined ? DEFAULT_THRESHOLDS : parseThresholds(init, 'Cannot make a container of subscriptions')
    this.#children = new AdaptiveSet(this.#thresholds)
  }

  /** Children held. */
  get size (): number {
    return this.#children.size
  }

  /** Whether `child` is held. */
  has (child: Child): boolean {
    return this.#children.has(child)
  }

  /**
   * Holds `child`, once however often it is added. A disposed container ends it on the spot and holds nothing; a subscription
   * that has ended is not held either.
   *
   * @returns the child
   * @throws TypeError for a child of the wrong shape, or the container itself
   */
  add<Added extends Child> (child: Added): Added {
    checkChild(child)
    if (Object.is(child, this)) {
      throw new TypeError('Cannot add a subscription: a container cannot hold itself')
    }
    if (this.#ending?.has(child) === true) {
      return child
    }
    if (this.closed) {
      endChild(child)
    } else if (!isOurs(child)) {
      this.#children.add(child)
    } else if (!child.closed && this.#children.add(child)) {
      child.join(this)
    }
    return child
  }

  /**
   * Takes `child` out and ends it. What it throws is thrown as it is.
   *
   * @returns false when it is not held, and then nothing is done
   */
  remove (child: Child): boolean {
    const isHeld = this.detach(child)
    if (isHeld) {
      endChild(child)
    }
    return isHeld
  }

  /**
   * Takes `child` out and leaves it alone.
   *
   * @returns false when it is not held
   */
  detach (child: Child): boolean {
    const isHeld = this.#children.delete(child)
    if (isHeld && isOurs(child)) {
      child.leave(this)
    }
    return isHeld
  }

  /**
   * Ends all children in order of insertion; the container can be used further.
   *
   * @throws AggregateError with all that children threw, in order, after all of them were called
   */
  clear (): void {
    const errors: unknown[] = []
    const stack = [this.#endings()]
    for (let endings = stack.at(-1); endings !== undefined; endings = stack.at(-1)) {
      const { done, value: child } = endings.next()
      if (done === true) {
        stack.pop()
      } else if (!(child instanceof CompositeSubscription)) {
        end(child, errors)
      } else if (child.close()) {
        stack.push(child.#endings())
      }
    }
    if (errors.length > 0) {
      throw new AggregateError(errors, `Cannot end all subscriptions: ${errors.length} failed`)
    }
  }

  /** Ends all children, as {@link clear} does, and the container for good. The same as `unsubscribe`. */
  dispose (): void {
    this.unsubscribe()
  }

  /** See {@link SubscriptionHolder}. */
  release (member: SubscriptionBase): void {
    this.#children.delete(member)
  }

  protected override onEnd (): void {
    this.clear()
  }

  /** Empties the container, then gives one after the other what is to be ended. */
  * #endings (): Generator<Child, void, undefined> {
    const children = this.#children
    this.#children = new AdaptiveSet(this.#thresholds)
    const ending = this.#ending ?? children
    if (ending !== children) {
      for (const child of children.toArray()) {
        ending.add(child)
      }
    }
    this.#ending = ending
    for (const child of ending.toArray()) {
      if (ending.delete(child)) {
        yield child
      }
    }
    this.#ending = undefined
  }
}

/** Functions first: to look through their prototypes would take longer than all else that is done with them. */
function isOurs (child: Child): child is SubscriptionBase {
  return typeof child !== 'function' && child instanceof SubscriptionBase
}

function end (child: Child, errors: unknown[]): void {
  try {
    endChild(child)
  } catch (cause) {
    errors.push(...causesOf(cause))
  }
}

/** A container within fails with one error for all of its children. */
function causesOf (cause: unknown): unknown[] {
  return cause instanceof AggregateError ? cause.errors.flatMap(causesOf) : [cause]
}
