import { describe, expect, it } from 'vitest'
import { CheckingIsolate, describeFile, measureApart } from '../../src/bench/isolate.ts'
import { forkLane } from '../../src/bench/process.ts'
import { installCommand, versionIn, versionOf } from '../../src/bench/packages.ts'
import type { Timer } from '../../src/bench/isolate.ts'
import type { Outcome, Task } from '../../src/bench/task.ts'

const WORKER = new URL('../support/odd-worker.js', import.meta.url)
const CHILD = new URL('../support/odd-child.js', import.meta.url)

function taskOf (file: string): Task {
  return { file, matrix: 'm', cell: 'm/size=1' }
}

/** Time is up at once, and it is told whether somebody still waits for that. */
function timerOf (isUp: boolean) {
  const state = { isWaiting: false }
  const timer: Timer = (_, act) => {
    state.isWaiting = true
    if (isUp) {
      act()
    }
    return () => { state.isWaiting = false }
  }
  return { timer, state }
}

describe('describeFile', () => {
  it('gives the matrices', async () => {
    expect(await describeFile(WORKER, 'answers')).toEqual([{ name: 'm' }])
  })

  it.each([['refuses', 'no matrix'], ['throws', 'thrown'], ['exits', 'exit code 3']])('rejects when the isolate %s', async (file, message) => {
    await expect(describeFile(WORKER, file)).rejects.toThrow(message)
  })
})

describe('measureApart', () => {
  it('gives the outcome, and leaves no timer behind', async () => {
    const { timer, state } = timerOf(false)
    expect(await measureApart(WORKER, taskOf('answers'), { timeoutMs: 1000, timer })).toEqual({ type: 'checked' })
    expect(state.isWaiting).toBe(false)
  })

  it.each([
    ['throws', { stage: 'run', name: 'TypeError', message: 'thrown' }],
    ['exits', { stage: 'run', name: 'Error', message: 'the worker ended without a result, exit code 3' }]
  ])('fails the cell when the isolate %s', async (file, error) => {
    expect(await measureApart(WORKER, taskOf(file), { timeoutMs: 1000, timer: timerOf(false).timer })).toEqual({ type: 'failed', error })
  })

  it('ends an isolate that hangs in a synchronous loop', async () => {
    expect(await measureApart(WORKER, taskOf('hangs'), { timeoutMs: 2000, timer: timerOf(true).timer }))
      .toEqual({ type: 'failed', error: { stage: 'timeout', name: 'TimeoutError', message: 'not done after 2 s' } })
  })
})

describe('CheckingIsolate', () => {
  const checking = (timer: Timer = timerOf(false).timer) => new CheckingIsolate(WORKER, { timeoutMs: 2000, timer })
  const cell = (what: string, of: Partial<Task> = {}): Task => ({ ...taskOf('odd.bench.js'), cell: what, ...of })
  const failed = (stage: string, name: string, message: string) => ({ type: 'failed', error: { stage, name, message } })

  it('checks the cells of a file in one isolate, and those of another file or build in another', async () => {
    const isolate = checking()
    const first = await isolate.check(cell('answers')) as Outcome & { thread: number }
    expect(first).toMatchObject({ type: 'checked', checked: 1 })
    expect(await isolate.check(cell('answers'))).toEqual({ ...first, checked: 2 })
    expect(await isolate.check(cell('answers', { file: 'other.bench.js' }))).toMatchObject({ checked: 1 })
    expect(await isolate.check(cell('answers', { against: 'other' }))).toMatchObject({ checked: 1 })
    await isolate.end()
    expect(await isolate.check(cell('answers'))).toMatchObject({ checked: 1 })
    await isolate.end()
  })

  it.each([
    ['throws', failed('run', 'TypeError', 'thrown')],
    ['exits', failed('run', 'Error', 'the worker ended without a result, exit code 3')]
  ])('fails a cell that %s, and checks the next one', async (what, outcome) => {
    const isolate = checking()
    await isolate.check(cell('answers'))
    expect(await isolate.check(cell(what))).toEqual(outcome)
    expect(await isolate.check(cell('answers'))).toMatchObject({ checked: 1 })
    await isolate.end()
  })

  it('gives a cell that ends a shared isolate another chance in one of its own', async () => {
    const isolate = checking()
    await isolate.check(cell('answers'))
    expect(await isolate.check(cell('exits-second'))).toMatchObject({ type: 'checked', checked: 1 })
    await isolate.end()
  })

  it('is not harmed by what a cell leaves behind', async () => {
    const isolate = checking()
    const first = await isolate.check(cell('ends-later')) as Outcome & { thread: number }
    let next = first
    while (next.thread === first.thread) {
      next = await isolate.check(cell('answers')) as Outcome & { thread: number }
      expect(next.type).toBe('checked')
    }
    expect(next).toMatchObject({ checked: 1 })
    await isolate.end()
  })

  it('ends an isolate that hangs in a synchronous loop', async () => {
    const isolate = checking(timerOf(true).timer)
    expect(await isolate.check(cell('hangs'))).toEqual(failed('timeout', 'TimeoutError', 'not done after 2 s'))
    await isolate.end()
  })
})

describe('forkLane', () => {
  const options = { nodeFlags: ['--stack-size=900'], cellTimeoutMs: 1234 }

  it('measures one task after the other in one process with its hash seed and flags', async () => {
    const lane = forkLane(CHILD, 5, options)
    const first = await lane.measure(taskOf('answers')) as Outcome & { pid: number }
    expect(first).toEqual({ type: 'checked', pid: expect.any(Number) as number, flags: ['--hash-seed=5', '--stack-size=900'], timeoutMs: 1234 })
    expect(await lane.measure(taskOf('answers'))).toEqual(first)
    lane.end()
  })

  it.each([['dies', 'the process ended with SIGKILL'], ['exits', 'the process ended with exit code 3']])('a process that %s fails its cell, and another one takes over', async (file, message) => {
    const lane = forkLane(CHILD, 1, options)
    expect(await lane.measure(taskOf(file))).toEqual({ type: 'failed', error: { stage: 'run', name: 'Error', message } })
    expect(await lane.measure(taskOf('answers'))).toMatchObject({ type: 'checked' })
    lane.end()
  })

  it('what is measured when it ends is aborted', async () => {
    const lane = forkLane(CHILD, 1, options)
    const outcome = lane.measure(taskOf('hangs'))
    lane.end()
    expect(await outcome).toEqual({ type: 'failed', error: { stage: 'aborted', name: 'Error', message: 'interrupted' } })
  })
})

describe('packages', () => {
  it('that are installed have a version', () => {
    expect(versionOf('benny')).toMatch(/^3\./)
    expect(versionOf('nobody-would-call-a-package-so')).toBeUndefined()
    expect(versionIn('/no/such/file')).toBeUndefined()
  })

  it('that are missing have a command', () => {
    expect(installCommand(['benny', 'd3-scale'])).toBe('npm install --save-dev benny@^3.7.1 d3-scale@^4.0.2')
  })
})
