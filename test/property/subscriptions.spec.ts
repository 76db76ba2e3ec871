import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CompositeSubscription, EventHub, FilteredHub, subscription } from '../../src/subscriptions/index.ts'
import { NaiveComposite, NaiveHub } from '../support/naive-subscriptions.ts'
import type { NaiveFilter, NaiveTopic } from '../support/naive-subscriptions.ts'

/** More children than any threshold below, so that runs cross them both ways. */
const CHILDREN = 40

const thresholds = fc.oneof(
  fc.constant(undefined),
  fc.tuple(fc.nat(20), fc.nat(20)).map(([one, other]) => ({ setAbove: Math.max(one, other), arrayBelow: Math.min(one, other) })),
  fc.constant({ setAbove: Infinity })
)

/** Few distinct children, in runs, so that the container fills, empties and fills again. */
const operation = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('add' as const), from: fc.nat(CHILDREN - 1), count: fc.integer({ min: 1, max: 30 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('remove' as const, 'detach' as const), from: fc.nat(CHILDREN - 1), count: fc.integer({ min: 1, max: 30 })
    })
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('clear' as const, 'dispose' as const), from: fc.constant(0), count: fc.constant(1) }) }
)

const operations = fc.array(operation, { maxLength: 40, size: 'max' })

describe('containers (S10.24)', () => {
  it('CompositeSubscription equals a list across its thresholds', () => {
    fc.assert(fc.property(thresholds, operations, (init, operations) => {
      const [real, model] = [new CompositeSubscription(init), new NaiveComposite()]
      const [called, expected]: [number[], number[]] = [[], []]
      const children = Array.from({ length: CHILDREN }, (_, index) => ({
        real: () => { called.push(index) },
        model: () => { expected.push(index) }
      }))
      for (const { kind, from, count } of operations) {
        for (let index = from; index < from + count; index++) {
          const child = children[index % CHILDREN]!
          if (kind === 'add') {
            real.add(child.real)
            model.add(child.model)
          } else if (kind === 'clear' || kind === 'dispose') {
            real[kind]()
            model[kind]()
          } else {
            expect(real[kind](child.real)).toBe(model[kind](child.model))
          }
        }
        expect(called).toEqual(expected)
        expect(real.size).toBe(model.children.length)
        expect(children.map(child => real.has(child.real))).toEqual(children.map(child => model.children.includes(child.model)))
      }
      real.dispose()
      model.dispose()
      expect(called).toEqual(expected)
    }), { numRuns: 300 })
  })

  it('a subscription is disposed at most once, whichever of many containers hold it and however they are linked', () => {
    const step = fc.record({
      kind: fc.constantFrom('add', 'add', 'add', 'link', 'remove', 'detach', 'clear', 'dispose', 'end'),
      container: fc.nat(3), other: fc.nat(3), child: fc.nat(19)
    })
    fc.assert(fc.property(thresholds, fc.array(step, { maxLength: 60, size: 'max' }), (init, steps) => {
      const containers = Array.from({ length: 4 }, () => new CompositeSubscription(init))
      const calls = Array.from({ length: 20 }, () => 0)
      const children = calls.map((_, index) => subscription(() => { calls[index]!++ }))
      for (const { kind, container: at, other, child: index } of steps) {
        const [container, child] = [containers[at]!, children[index]!]
        switch (kind) {
          case 'add': container.add(child); break
          case 'link': if (at !== other) { container.add(containers[other]!) } break
          case 'remove': container.remove(child); break
          case 'detach': container.detach(child); break
          case 'clear': container.clear(); break
          case 'dispose': container.dispose(); break
          case 'end': child.unsubscribe()
        }
      }
      expect(calls).toEqual(children.map(({ closed }) => Number(closed)))
      expect(containers.filter(({ closed, size }) => closed && size > 0)).toEqual([])
      expect(children.filter(child => child.closed && containers.some(held => held.has(child)))).toEqual([])
    }), { numRuns: 300 })
  })
})

/** What subscribers do when they are called: nothing, end some subscription, make one, publish once. */
const reaction = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'none' as const, target: 0 }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('end' as const), target: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('subscribe' as const, 'publish' as const), target: fc.nat(30) }) }
)
const someKeys = fc.oneof(fc.constantFrom('a', 'b', 'c'), fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }))
const filter: fc.Arbitrary<NaiveFilter> = fc.record({
  x: fc.oneof(fc.constant(undefined), someKeys), y: fc.oneof(fc.constant(undefined), someKeys)
})
const topic: fc.Arbitrary<NaiveTopic> = fc.record({ x: someKeys, y: someKeys })
const script = fc.array(fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('subscribe' as const), filter, reaction }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('end' as const), target: fc.nat(60) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('publish' as const), topic }) }
), { maxLength: 80, size: 'max' })

type Script = typeof script extends fc.Arbitrary<infer Value> ? Value : never

interface AnyHub {
  readonly size: number
  subscribe (filter: NaiveFilter, callback: (event: number) => void): { unsubscribe (): void }
  publish (topic: NaiveTopic, event: number): void
}

/** Everything that one hub does in the course of a script. */
function record (hub: AnyHub, script: Script): unknown[] {
  const heard: unknown[] = []
  const subscriptions: Array<{ unsubscribe (): void }> = []
  let events = 0
  const subscribe = (filter: NaiveFilter, onEvent: (event: number) => void): void => {
    const index = subscriptions.length
    subscriptions.push(hub.subscribe(filter, (event) => {
      heard.push([index, event])
      onEvent(event)
    }))
  }
  for (const step of script) {
    if (step.kind === 'subscribe') {
      const { kind, target } = step.reaction
      subscribe(step.filter, (event) => {
        if (kind === 'end') {
          subscriptions[target % subscriptions.length]!.unsubscribe()
        } else if (kind === 'subscribe') {
          subscribe(step.filter, () => {})
        } else if (kind === 'publish' && event < 1000) {
          hub.publish({ x: 'a', y: 'b' }, event + 1000)
        }
      })
    } else if (step.kind === 'end') {
      subscriptions[step.target % subscriptions.length]?.unsubscribe()
    } else {
      hub.publish(step.topic, events++)
    }
    heard.push(hub.size)
  }
  return heard
}

describe('hubs', () => {
  it('FilteredHub does what one does that asks everybody, also when callbacks subscribe, end and publish', () => {
    fc.assert(fc.property(script, (script) => {
      const hub = new FilteredHub<number, 'x' | 'y'>(['x', 'y'], (cause) => { throw cause })
      expect(record(hub as AnyHub, script)).toEqual(record(new NaiveHub(), script))
    }), { numRuns: 300 })
  })

  it('EventHub does the same without filters', () => {
    fc.assert(fc.property(script, (script) => {
      const hub = new EventHub<number>((cause) => { throw cause })
      const all = script.map(step => step.kind === 'subscribe' ? { ...step, filter: {} } : step)
      expect(record({
        get size () { return hub.size },
        subscribe: (_, callback) => hub.subscribe(callback),
        publish: (_, event) => { hub.publish(event) }
      }, all)).toEqual(record(new NaiveHub(), all))
    }), { numRuns: 300 })
  })
})
