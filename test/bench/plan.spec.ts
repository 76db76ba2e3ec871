import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { comparisonBlocks } from '../../src/bench/blocks.ts'
import { DEFAULT_AMOUNTS, QUICK_AMOUNTS, estimate, fit, leastTime } from '../../src/bench/budget.ts'
import controls from '../../src/bench/controls.ts'
import { describeMatrix } from '../../src/bench/description.ts'
import { matrix } from '../../src/bench/index.ts'
import { CONTROL_IDS, planCells, withControls } from '../../src/bench/plan.ts'
import { pick, shuffled } from '../../src/bench/random.ts'
import { seededRandom } from '../../src/core/seeded-random.ts'

const idle = { setup: () => 0, run: () => 0, verify: () => true }
const described = (name: string, axes: Record<string, string[]> = { variant: ['a', 'b'] }) =>
  describeMatrix('file:///bench.js', matrix({ name, axes, baseline: { [Object.keys(axes)[0]!]: Object.values(axes)[0]![0]! }, ...idle }))

describe('planCells', () => {
  it('refuses two cells of the same id, whatever files they are from (S13.5, B08)', () => {
    expect(() => planCells([described('m'), described('n'), described('m')])).toThrow(new RangeError('Cannot run the benches: two cells have the id m/variant=a'))
  })

  it('refuses another build for a matrix with an axis of that name', () => {
    expect(() => planCells([described('m', { build: ['a', 'b'] })], 'file:///other/')).toThrow(RangeError)
  })
})

describe('withControls', () => {
  it('adds the empty body, the fixed body and a twin, which is the same task under another name', () => {
    const cells = planCells([described('m')])
    const plan = withControls(cells, [describeMatrix('file:///controls.js', controls)], () => 0.9)
    expect(plan.cells).toBe(cells)
    expect(plan.controls.map(({ id }) => id)).toEqual([CONTROL_IDS.empty, CONTROL_IDS.fixed, CONTROL_IDS.twin])
    expect(plan.twinOf).toBe('m/variant=b')
    expect(plan.controls[2]).toMatchObject({ task: cells[1]!.task, baselineIds: [] })
  })

  it('the control bodies do their work', async () => {
    for (const cell of controls.cells) {
      const state = await controls.setup(cell)
      const checksum = await controls.run(state, 100)
      expect(await controls.verify(state, { iterations: 100, checksum })).toBe(true)
      expect(await controls.verify(state, { iterations: 1000, checksum })).toBe(false)
    }
  })
})

describe('comparisonBlocks', () => {
  const idsOf = (cells: Parameters<typeof comparisonBlocks>[0]): string[][] => comparisonBlocks(cells).map(block => block.map(({ id }) => id))

  it('puts cells with a common baseline together, and others apart', () => {
    expect(idsOf(planCells([described('m', { variant: ['a', 'b', 'c'], size: ['1', '2'] })]))).toEqual([
      ['m/variant=a/size=1', 'm/variant=b/size=1', 'm/variant=c/size=1'],
      ['m/variant=a/size=2', 'm/variant=b/size=2', 'm/variant=c/size=2']
    ])
    expect(idsOf(planCells([describeMatrix('file:///bench.js', matrix({ name: 'm', axes: { variant: ['a', 'b'] }, ...idle }))]))).toEqual([['m/variant=a'], ['m/variant=b']])
  })

  it('puts both builds of all of them together', () => {
    expect(idsOf(planCells([described('m')], 'file:///other/')).map(block => block.toSorted())).toEqual([
      ['m/variant=a/build=against', 'm/variant=a/build=this', 'm/variant=b/build=against', 'm/variant=b/build=this']
    ])
  })

  it('puts a twin beside its original, whose block it joins', () => {
    const cells = planCells([described('m'), described('n')].map((matrix, at) => ({ ...matrix, file: `file:///${at}.js` })))
    const { controls: added, twinOf } = withControls(cells, [describeMatrix('file:///controls.js', controls)], () => 0.9)
    expect(twinOf).toBe('n/variant=b')
    expect(idsOf([...cells, ...added])).toEqual([
      ['m/variant=a', 'm/variant=b'], ['n/variant=a', 'n/variant=b', CONTROL_IDS.twin], [CONTROL_IDS.empty], [CONTROL_IDS.fixed]
    ])
  })
})

describe('the budget', () => {
  it('is lowered in the order rounds, samples, warm-up, processes, and no further than it must', () => {
    const amounts = { processes: 5, rounds: 3, samples: 3, minTimeMs: 50, warmUpMs: 150 }
    const times = [1, 0.5, 0.3, 0.2, 0.15, 0.12].map(part => part * estimate(48, amounts))
    expect(times.map(time => fit(48, amounts, time))).toEqual([
      amounts,
      { ...amounts, rounds: 1 },
      { ...amounts, rounds: 1, samples: 2 },
      { ...amounts, rounds: 1, samples: 1, warmUpMs: 75 },
      { ...amounts, rounds: 1, samples: 1, warmUpMs: 50, processes: 4 },
      { ...amounts, rounds: 1, samples: 1, warmUpMs: 50, processes: 3 }
    ])
  })

  it('never has fewer than three processes, unless that is asked for', () => {
    expect(fit(48, DEFAULT_AMOUNTS, 1000)).toBeUndefined()
    expect(fit(1, { ...QUICK_AMOUNTS, processes: 1 }, 60_000)).toEqual({ ...QUICK_AMOUNTS, processes: 1 })
  })

  it('fits whenever there is the least time', () => {
    const amounts = fc.record({
      processes: fc.integer({ min: 1, max: 12 }), rounds: fc.integer({ min: 1, max: 9 }), samples: fc.integer({ min: 1, max: 9 }),
      minTimeMs: fc.integer({ min: 1, max: 500 }), warmUpMs: fc.integer({ min: 0, max: 999 })
    })
    fc.assert(fc.property(amounts, fc.integer({ min: 1, max: 200 }), fc.double({ min: 0.1, max: 5, noNaN: true }), (given, cells, part) => {
      const time = leastTime(cells, given) * part
      const fitted = fit(cells, given, time)
      expect(fitted !== undefined).toBe(time >= leastTime(cells, given))
      expect(fitted === undefined || estimate(cells, fitted) <= time).toBe(true)
    }))
  })
})

describe('draws', () => {
  it('a shuffled list has the same values, and every order comes', () => {
    const random = seededRandom(1)
    const list = Object.freeze([1, 2, 3])
    const orders = new Set(Array.from({ length: 200 }, () => shuffled(list, random).join()))
    expect(orders.size).toBe(6)
    expect(shuffled(list, random).toSorted()).toEqual([1, 2, 3])
  })

  it('nothing can be picked from an empty list', () => {
    expect(() => pick([], () => 0)).toThrow(RangeError)
  })
})
