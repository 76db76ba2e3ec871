import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { bennyExecutor } from '../../src/bench/benny.ts'
import { builtinExecutor } from '../../src/bench/builtin.ts'
import type { Executor } from '../../src/bench/executor.ts'

/** Real time: what is tested is how the two sample. */
const EXECUTORS: Executor[] = [bennyExecutor('3.7.1'), builtinExecutor(() => performance.now())]

function work (): void {
  let sum = 0
  for (let left = 20_000; left > 0; left--) {
    sum += Math.sqrt(left)
  }
  expect(sum).toBeGreaterThan(0)
}

describe.each(EXECUTORS)('$name', (executor) => {
  beforeEach(() => { vi.spyOn(console, 'log').mockImplementation(() => {}) })
  afterEach(() => { vi.restoreAllMocks() })

  it('takes exactly so many samples', async () => {
    const { nsPerCall, count } = await executor.sample(work, { samples: 4, minTimeMs: 2, startCount: 1 })
    expect(nsPerCall).toHaveLength(4)
    expect(nsPerCall.every(ns => ns > 1000)).toBe(true)
    expect(count).toBeGreaterThan(1)
  })

  it('calls an async body one at a time', async () => {
    let running = 0
    let most = 0
    const { nsPerCall } = await executor.sample(async () => {
      most = Math.max(most, ++running)
      await Promise.resolve()
      work()
      running--
    }, { samples: 2, minTimeMs: 2, startCount: 0 })
    expect(nsPerCall).toHaveLength(2)
    expect(most).toBe(1)
  })
})

describe('bennyExecutor', () => {
  it('is named with its version', () => {
    expect(bennyExecutor('3.7.1').name).toBe('benny@3.7.1')
  })
})
