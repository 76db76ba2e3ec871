import { beforeEach, describe, expect, it } from 'vitest'
import { builtinExecutor } from '../../src/bench/builtin.ts'
import { measure } from '../../src/bench/measure.ts'
import { matrix } from '../../src/bench/index.ts'
import { VirtualMachine } from '../support/virtual-machine.ts'
import type { Axes, MatrixInit } from '../../src/bench/index.ts'
import type { Subject } from '../../src/bench/measure.ts'
import type { MeasuredOutcome, Sampling } from '../../src/bench/task.ts'

const SAMPLING: Sampling = { executor: 'builtin', samples: 3, minTimeMs: 5, warmUpMs: 15, isMemoryMeasured: true, isLinearityChecked: true }

describe('measure', () => {
  let machine: VirtualMachine

  beforeEach(() => {
    machine = new VirtualMachine()
  })

  /** A bench whose iterations take `ns` each. */
  function benchOf (init: Partial<MatrixInit<Axes, string>> = {}, ns = 5000): MatrixInit<Axes, string> {
    return {
      name: 'm',
      axes: { size: [1] },
      setup: () => 'state',
      run: (_, iterations) => {
        machine.spend(ns * iterations)
        return iterations
      },
      verify: (_, { iterations, checksum }) => iterations === checksum,
      ...init
    }
  }

  async function measured (init: MatrixInit<Axes, string>, more: Partial<Subject> = {}) {
    const made = matrix(init)
    return measure({ matrix: made, cell: made.cells[0]!, sampling: SAMPLING, ...more }, builtinExecutor(() => machine.now()), machine)
  }

  async function figures (init: MatrixInit<Axes, string>, more: Partial<Subject> = {}): Promise<MeasuredOutcome> {
    const outcome = await measured(init, more)
    if (outcome.type !== 'measured') {
      throw new Error(JSON.stringify(outcome))
    }
    return outcome
  }

  it('gives nanoseconds of an iteration', async () => {
    const { samples, isAsync, isSteady, linearity } = await figures(benchOf())
    expect(samples).toEqual(Array(3).fill(expect.closeTo(5000, 6)))
    expect({ isAsync, isSteady }).toEqual({ isAsync: false, isSteady: true })
    expect(linearity).toBeCloseTo(2, 6)
  })

  it('times neither set-up nor teardown, whether they are awaited or not (S13.4, B06)', async () => {
    const slow = { setup: () => { machine.spend(1000e6); return 'state' }, teardown: () => { machine.spend(500e6) } }
    const patient = { setup: async () => slow.setup(), teardown: async () => { slow.teardown() } }
    const asyncRun = { run: async (_: string, iterations: number) => { machine.spend(5 * iterations); await Promise.resolve(); return iterations } }
    for (const init of [slow, patient, { ...patient, ...asyncRun }]) {
      expect((await figures(benchOf(init, 5))).samples).toEqual(Array(3).fill(expect.closeTo(5, 6)))
    }
  })

  it('awaits promises one at a time, and says that the cell is async', async () => {
    let running = 0
    let most = 0
    const { isAsync, samples } = await figures(benchOf({
      run: async (_, iterations) => {
        most = Math.max(most, ++running)
        await Promise.resolve()
        machine.spend(5000 * iterations)
        running--
        return iterations
      }
    }))
    expect({ isAsync, most }).toEqual({ isAsync: true, most: 1 })
    expect(samples).toEqual(Array(3).fill(expect.closeTo(5000, 6)))
  })

  it('awaits any thenable', async () => {
    const { isAsync } = await figures(benchOf({
      run: (_, iterations) => {
        machine.spend(5000 * iterations)
        return { then: (resolve: (value: number) => void) => { resolve(iterations) } } as unknown as PromiseLike<number>
      }
    }))
    expect(isAsync).toBe(true)
  })

  it('finds a power of two that makes a call last 50 µs, and keeps what an earlier round found', async () => {
    const { calibration } = await figures(benchOf())
    expect(calibration).toMatchObject({ iterations: 16, repeat: 1 })
    const again = await figures(benchOf(), { calibration })
    expect(again.calibration).toEqual(calibration)
  })

  it('spends one call on finding out that a call is long', async () => {
    let calls = 0
    await figures(benchOf({
      run: (_, iterations) => { calls++; machine.spend(1e9); return iterations }
    }), { sampling: { ...SAMPLING, samples: 1, isMemoryMeasured: false, isLinearityChecked: false } })
    // The first one, that one, a warm-up that it fills, and the sample.
    expect(calls).toBe(4)
  })

  it('repeats calls, not iterations, when the axis iterations is there', async () => {
    const asked = new Set<number>()
    const { calibration, samples } = await figures(benchOf({
      axes: { iterations: [3] },
      run: (_, iterations) => { asked.add(iterations); machine.spend(5000 * iterations); return iterations }
    }))
    expect(calibration).toMatchObject({ iterations: 3, repeat: 4 })
    expect(samples).toEqual(Array(3).fill(expect.closeTo(5000, 6)))
    expect([...asked]).toEqual([3, 6])
  })

  it('hands all work of the round to verify', async () => {
    let seen: unknown
    let ran = 0
    await figures(benchOf({
      run: (_, iterations) => { ran += iterations; machine.spend(5000 * iterations); return 2 * iterations },
      verify: (state, work) => { seen = [state, work]; return true }
    }))
    expect(seen).toEqual(['state', { iterations: ran, checksum: 2 * ran }])
  })

  it('sees a body that works only once', async () => {
    let hasWorked = false
    const { linearity } = await figures(benchOf({
      run: (_, iterations) => { machine.spend(hasWorked ? 60_000 : 1e6); hasWorked = true; return iterations }
    }))
    expect(linearity).toBeCloseTo(1, 6)
  })

  it('counts bytes, also those that were collected meanwhile, and forgets less than half a byte', async () => {
    const allocating = (bytes: number) => benchOf({
      run: (_, iterations) => { machine.spend(5000 * iterations); machine.allocate(bytes * iterations); return iterations }
    })
    const { bytesPerIteration, gcs } = await figures(allocating(800))
    expect(bytesPerIteration).toBeCloseTo(800, 3)
    expect(gcs).toBeGreaterThan(0)
    expect((await figures(allocating(0.4))).bytesPerIteration).toBe(0)
    expect(await figures(allocating(800), { sampling: { ...SAMPLING, isMemoryMeasured: false } })).not.toHaveProperty('bytesPerIteration')
  })

  it('takes few bytes of a long iteration for its own, and takes off what looking at the heap takes', async () => {
    const long = (bytes: number) => benchOf({
      run: (_, iterations) => { machine.spend(5e6 * iterations); machine.allocate(bytes * iterations); return iterations }
    })
    expect((await figures(long(500))).bytesPerIteration).toBe(0)
    expect((await figures(long(5000))).bytesPerIteration).toBeCloseTo(5000, 3)
    const read = machine.heapUsed.bind(machine)
    machine.heapUsed = () => {
      const used = read()
      machine.allocate(50_000)
      return used
    }
    expect((await figures(long(5000))).bytesPerIteration).toBeCloseTo(5000, 3)
    expect((await figures(long(0))).bytesPerIteration).toBe(0)
  })

  it('tells the bytes that each thing of the state keeps', async () => {
    const setup = () => { machine.allocate(6000, true); machine.allocate(500); return 'state' }
    const { bytesRetained } = await figures(benchOf({ setup, retained: () => 100 }))
    expect(bytesRetained).toBe(60)
  })

  it.each([
    ['faster and faster', -0.01, false],
    ['neither', 0, true],
    // Nothing that is waited for.
    ['slower and slower', 0.01, true]
  ])('a body that becomes %s, by %d of itself in a millisecond, is warm: %s', async (_, growth, isWarm) => {
    const start = machine.now()
    const run = (_: string, iterations: number) => {
      machine.spend(iterations * 50_000 * Math.exp(growth * (machine.now() - start)))
      return iterations
    }
    const { isSteady } = await figures(benchOf({ run }), { sampling: { ...SAMPLING, samples: 1, isMemoryMeasured: false } })
    expect(isSteady).toBe(isWarm)
  })

  it('only checks without sampling: one run, of the iterations that the axis says', async () => {
    const calls: number[] = []
    const made = matrix(benchOf({ axes: { iterations: [7] }, run: (_, iterations) => { calls.push(iterations); return iterations } }))
    const outcome = await measure({ matrix: made, cell: made.cells[0]! }, builtinExecutor(() => machine.now()), machine)
    expect(outcome).toEqual({ type: 'checked' })
    expect(calls).toEqual([7])
  })

  describe('fails a cell, with the stage and the error, when', () => {
    const broken = () => { throw new TypeError('broken') }
    it.each<[string, Partial<MatrixInit<Axes, string>>, object]>([
      ['set-up throws', { setup: broken }, { stage: 'setup', name: 'TypeError', message: 'broken' }],
      ['set-up rejects', { setup: async () => broken() }, { stage: 'setup', name: 'TypeError', message: 'broken' }],
      ['run throws', { run: broken }, { stage: 'run', name: 'TypeError', message: 'broken' }],
      ['run rejects', { run: async () => broken() }, { stage: 'run', name: 'TypeError', message: 'broken' }],
      ['what was thrown is no error', { run: () => { throw 'broken' as unknown as Error } }, { stage: 'run', name: 'Error', message: 'broken' }],
      ['run returns nothing', { run: (() => {}) as unknown as () => number }, { stage: 'run', name: 'TypeError', message: 'run must return a number, received undefined' }],
      ['run returns NaN', { run: () => NaN }, { stage: 'run', name: 'TypeError', message: 'run must return a finite number, received NaN' }],
      ['run resolves to nothing', { run: (async () => {}) as unknown as () => number }, { stage: 'run', name: 'TypeError' }],
      ['verify says no', { verify: () => false }, { stage: 'verify', name: 'Error', message: expect.stringContaining('the work was not done') as string }],
      ['verify throws', { verify: broken }, { stage: 'verify', name: 'TypeError' }],
      ['verify resolves to no', { verify: async () => false }, { stage: 'verify' }],
      ['teardown throws', { teardown: broken }, { stage: 'teardown', name: 'TypeError' }],
      ['teardown rejects', { teardown: async () => broken() }, { stage: 'teardown', name: 'TypeError' }]
    ])('%s', async (_, init, error) => {
      expect(await measured(benchOf(init))).toEqual({ type: 'failed', error: expect.objectContaining(error) as object })
    })

    it.each([3, 100, 300, 450])('run throws at call %d', async (fatal) => {
      let calls = 0
      const run = (_: string, iterations: number) => {
        if (++calls === fatal) {
          throw new Error(`call ${fatal}`)
        }
        machine.spend(60_000 * iterations)
        return iterations
      }
      const failed = { type: 'failed', error: { stage: 'run', message: `call ${fatal}` } }
      expect(await measured(benchOf({ run }))).toMatchObject(failed)
      calls = 0
      expect(await measured(benchOf({ run: async (state, iterations) => run(state, iterations) }))).toMatchObject(failed)
    })

    it.each(['at once', 'later'])('run does its work once, whatever iterations it is asked for, and returns %s', async (when) => {
      const asked: number[] = []
      const run = (_: string, iterations: number) => { asked.push(iterations); machine.spend(5000); return iterations }
      const error = { stage: 'run', name: 'RangeError', message: 'run(state, iterations) took no longer for more iterations: it must do its work `iterations` times' }
      expect(await measured(benchOf({ run: when === 'at once' ? run : async (...args) => run(...args) }))).toMatchObject({ type: 'failed', error })
      expect(Math.max(...asked)).toBe(2 ** 29)
    })

    it('a sample is below the resolution of the clock', async () => {
      const made = matrix(benchOf())
      const blind = { name: 'blind', sample: async () => ({ nsPerCall: Float64Array.of(1, 0), count: 1 }) }
      expect(await measure({ matrix: made, cell: made.cells[0]!, sampling: SAMPLING }, blind, machine))
        .toMatchObject({ type: 'failed', error: { stage: 'run', name: 'RangeError', message: 'a sample is below the resolution of the clock' } })
    })
  })

  it('tears down after a failure, and tells the first error', async () => {
    const torn: string[] = []
    const outcome = await measured(benchOf({
      run: () => { throw new Error('first') },
      teardown: (state) => { torn.push(state); throw new Error('second') }
    }))
    expect(outcome).toMatchObject({ error: { stage: 'run', message: 'first' } })
    expect(torn).toEqual(['state'])
  })
})
