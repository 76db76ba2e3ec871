import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ChurnMap } from '../../src/subscriptions/churn-map.ts'
import { collectGarbage } from '../support/garbage.ts'

describe('ChurnMap', () => {
  it('has the keys and values of a Map, for every sequence of operations', () => {
    const operation = fc.record({ kind: fc.constantFrom('set', 'set', 'delete'), key: fc.nat(30), value: fc.nat(99) })
    fc.assert(fc.property(fc.array(operation, { maxLength: 200, size: 'max' }), (operations) => {
      const [real, model] = [new ChurnMap<number, number>(), new Map<number, number>()]
      for (const { kind, key, value } of operations) {
        if (kind === 'set') {
          real.set(key, value)
          model.set(key, value)
        } else {
          expect(real.delete(key)).toBe(model.delete(key))
        }
        expect([real.size, real.get(key)]).toEqual([model.size, model.get(key)])
      }
      const entries = new Map<number, number>()
      real.forEach((key, value) => { entries.set(key, value) })
      expect(entries).toEqual(model)
    }), { numRuns: 300 })
  })

  it('keeps no more than a quarter of its keys after their deletion', async () => {
    const live = Array.from({ length: 100 }, (_, index) => ({ index }))
    const map = new ChurnMap<object, number>()
    for (const key of live) {
      map.set(key, key.index)
    }
    const gone = Array.from({ length: 1000 }, (_, index) => {
      const key = { index }
      map.set(key, index)
      map.delete(key)
      return new WeakRef(key)
    })
    await collectGarbage()
    expect(gone.filter(key => key.deref() !== undefined).length).toBeLessThanOrEqual(25)
    expect(map.size).toBe(100)
  })
})
