import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BoundedQueue } from '../../src/core/bounded-queue.ts'
import { collectGarbage } from '../support/garbage.ts'

describe('BoundedQueue', () => {
  it('refuses a capacity that is no count', () => {
    for (const capacity of [-1, 1.5, NaN, -Infinity]) {
      expect(() => new BoundedQueue(capacity)).toThrow(new RangeError(
        `Cannot make a queue: capacity must be a whole number of at least 0 or Infinity, received ${capacity}`
      ))
    }
  })

  it('gives values back first in, first out', () => {
    const queue = new BoundedQueue<string>(2)
    expect([queue.push('a'), queue.push('b')]).toEqual([true, true])
    expect([queue.shift(), queue.shift(), queue.shift()]).toEqual(['a', 'b', undefined])
  })

  it('at capacity push answers false and keeps nothing', () => {
    const queue = new BoundedQueue<string>(1)
    queue.push('a')
    expect(queue.push('b')).toBe(false)
    expect([...queue]).toEqual(['a'])
    expect(new BoundedQueue(0).push('a')).toBe(false)
  })

  it('holds undefined like any other value', () => {
    const queue = new BoundedQueue<undefined>(1)
    queue.push(undefined)
    expect(queue.size).toBe(1)
    expect([...queue]).toEqual([undefined])
    expect(queue.remove(() => false)).toBe(0)
    expect(queue.size).toBe(1)
  })

  it('remove takes out what matches, and keeps the order of the rest', () => {
    const queue = new BoundedQueue<number>(Infinity)
    for (let value = 0; value < 10; value++) {
      queue.push(value)
    }
    expect(queue.remove(value => value % 3 === 0)).toBe(4)
    expect([...queue]).toEqual([1, 2, 4, 5, 7, 8])
  })

  it('gives the memory of a burst back once it has run empty, and goes on (S10.12)', async () => {
    const queue = new BoundedQueue<number>(Infinity)
    const before = await usedBytes()
    for (let value = 0; value < 1_000_000; value++) {
      queue.push(value)
    }
    const full = await usedBytes() - before
    for (let value = 0; value < 1_000_000; value++) {
      queue.shift()
    }
    // A slot is a word of 8 bytes; what else comes and goes on the heap meanwhile is far less than a megabyte.
    expect([full > 7_000_000, await usedBytes() - before < 1_000_000]).toEqual([true, true])
    queue.push(1)
    queue.push(2)
    expect([...queue, queue.shift(), queue.peek()]).toEqual([1, 2, 1, 2])
  })

  it('equals an array with a limit, for every sequence of operations', () => {
    fc.assert(fc.property(fc.constantFrom(0, 1, 3, 4, 5, 100, Infinity), commands, (capacity, commands) => {
      fc.modelRun(() => ({ model: { values: [], capacity }, real: new BoundedQueue<number>(capacity) }), commands)
    }), { numRuns: 500 })
  })
})

async function usedBytes (): Promise<number> {
  await collectGarbage()
  return process.memoryUsage().heapUsed
}

interface Model {
  values: number[]
  readonly capacity: number
}

/** Does one thing to both, compares what they answer, then what they hold. */
class Operation implements fc.Command<Model, BoundedQueue<number>> {
  readonly #name: string
  readonly #onModel: (model: Model) => unknown
  readonly #onQueue: (queue: BoundedQueue<number>) => unknown

  constructor (name: string, onModel: (model: Model) => unknown, onQueue: (queue: BoundedQueue<number>) => unknown) {
    this.#name = name
    this.#onModel = onModel
    this.#onQueue = onQueue
  }

  check (): boolean {
    return true
  }

  run (model: Model, queue: BoundedQueue<number>): void {
    expect(this.#onQueue(queue)).toEqual(this.#onModel(model))
    expect([...queue]).toEqual(model.values)
    expect(queue.size).toBe(model.values.length)
    expect(queue.peek()).toBe(model.values[0])
    expect(queue.capacity).toBe(model.capacity)
  }

  toString (): string {
    return this.#name
  }
}

function pushToModel ({ values, capacity }: Model, value: number): boolean {
  if (values.length >= capacity) {
    return false
  }
  values.push(value)
  return true
}

function removeFromModel (model: Model, divisor: number): number {
  const before = model.values.length
  model.values = model.values.filter(value => value % divisor !== 0)
  return before - model.values.length
}

const push = fc.nat(99).map(value =>
  new Operation(`push(${value})`, model => pushToModel(model, value), queue => queue.push(value)))
const shift = fc.constant(new Operation('shift()', ({ values }) => values.shift(), queue => queue.shift()))
const remove = fc.integer({ min: 1, max: 4 }).map(divisor =>
  new Operation(`remove(% ${divisor})`, model => removeFromModel(model, divisor), queue => queue.remove(value => value % divisor === 0)))
const clear = fc.constant(new Operation('clear()', model => { model.values = [] }, queue => { queue.clear() }))

const commands = fc.commands(
  [push, push, push, push, shift, shift, remove, clear],
  { maxCommands: 60, size: '+2' }
)
