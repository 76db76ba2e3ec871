/** How promises ended, each of many. */

/** Fewer are joined as they are. */
const WALK_FROM = 64

/** Members that are awaited at a time: so many that to watch over the walkers costs next to nothing. */
const WALKERS = 16

/** Awaited for nothing but a turn in the queue of microtasks. */
const SETTLED = Promise.resolve()

/**
 * Resolves when all have ended, with how each did, in their order.
 *
 * @param promises - of the host; they count as handled before any other task runs
 */
export async function outcomesOf (promises: readonly unknown[]): Promise<Array<PromiseSettledResult<unknown>>> {
  return promises.length < WALK_FROM ? await outcomesTogether(promises) : await new Walk(promises).run()
}

/** A plain value, as one that succeeded. */
export function fulfilled<Value> (value: Value): PromiseFulfilledResult<Value> {
  return { status: 'fulfilled', value }
}

/** In place, as every array of 100 000 counts. */
export function fulfil (values: unknown[]): Array<PromiseSettledResult<unknown>> {
  for (let at = 0; at < values.length; at++) {
    values[at] = fulfilled(values[at])
  }
  return values as Array<PromiseSettledResult<unknown>>
}

/** `Promise.all` needs a function and an object less for each than `Promise.allSettled`. */
async function outcomesTogether (promises: readonly unknown[]): Promise<Array<PromiseSettledResult<unknown>>> {
  return await Promise.all(promises).then(fulfil, async () => await outcomesInTurn(promises))
}

/** After a failure. Each is awaited although one after the other: `Promise.all` has them handled already. */
async function outcomesInTurn (promises: readonly unknown[]): Promise<Array<PromiseSettledResult<unknown>>> {
  const outcomes: Array<PromiseSettledResult<unknown>> = []
  for (const promise of promises) {
    outcomes.push(await outcomeOf(promise))
  }
  return outcomes
}

async function outcomeOf (promise: unknown): Promise<PromiseSettledResult<unknown>> {
  try {
    return fulfilled(await promise)
  } catch (reason) {
    return { status: 'rejected', reason }
  }
}

/**
 * Members that have ended already can be awaited one after the other, which takes a third of what `Promise.all` does: no function
 * is made for each. But a member that is waited for while another one fails would leave that unhandled. So some walkers share the
 * members, and a look goes behind them through the queue of microtasks: where one of them did not come forward between two
 * looks, its member has not ended, and all that are left are joined at once. Until then the queue was never empty, so that no
 * failure has been reported.
 */
class Walk {
  readonly #promises: readonly unknown[]
  readonly #outcomes: Array<PromiseSettledResult<unknown>> = []
  #ended = 0
  #walkers = WALKERS
  #isLeft = false

  constructor (promises: readonly unknown[]) {
    // Whose list it is may change it.
    this.#promises = promises.slice()
  }

  async run (): Promise<Array<PromiseSettledResult<unknown>>> {
    for (let first = 0; first < WALKERS; first++) {
      void this.#walk(first)
    }
    while (this.#walkers > 0) {
      const before = this.#ended
      await SETTLED
      if (this.#ended - before < this.#walkers) {
        return await this.#leave()
      }
    }
    return this.#outcomes
  }

  async #walk (first: number): Promise<void> {
    const promises = this.#promises
    const outcomes = this.#outcomes
    for (let at = first; at < promises.length; at += WALKERS) {
      try {
        outcomes[at] = fulfilled(await promises[at])
      } catch (reason) {
        outcomes[at] = { status: 'rejected', reason }
      }
      if (this.#isLeft) {
        return
      }
      this.#ended++
    }
    this.#walkers--
  }

  /** Joins all from the first member that has not ended. */
  async #leave (): Promise<Array<PromiseSettledResult<unknown>>> {
    this.#isLeft = true
    let reached = 0
    while (this.#outcomes[reached] !== undefined) {
      reached++
    }
    const outcomes = this.#outcomes.slice(0, reached)
    return outcomes.concat(await outcomesTogether(this.#promises.slice(reached)))
  }
}
