import { describe, expect, it, vi } from 'vitest'
import { inlineExecutor } from '../../src/concurrency/index.ts'

describe('inlineExecutor', () => {
  it('runs a job at once, and throws what it throws', () => {
    const job = vi.fn()
    inlineExecutor.execute(job)
    expect(job).toHaveBeenCalledOnce()
    expect(() => { inlineExecutor.execute(() => { throw new Error('job') }) }).toThrow('job')
  })
})
