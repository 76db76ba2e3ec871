import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import { CoalescingExecutor } from '../../src/concurrency/index.ts'
import { collectGarbage } from '../support/garbage.ts'
import type { AddressInfo } from 'node:net'
import type { CoalescingExecutorInit, Task } from '../../src/concurrency/index.ts'

/** A host whose microtasks, macrotasks and time are run by hand. */
function executorOn (init?: CoalescingExecutorInit) {
  const microtasks: Array<() => void> = []
  const macrotasks: Array<() => void> = []
  const errors: unknown[] = []
  const host = { now: 0 }
  const executor = new CoalescingExecutor({
    now: () => host.now,
    soon: (turn) => { microtasks.push(turn) },
    later: (turn) => { macrotasks.push(turn) },
    onError: (cause) => { errors.push(cause) }
  }, init)
  const soon = (): void => { microtasks.shift()?.() }
  const later = (): void => { macrotasks.shift()?.() }
  const asked = (): [number, number] => [microtasks.length, macrotasks.length]
  return { executor, host, errors, soon, later, asked }
}

describe('CoalescingExecutor', () => {
  it('runs all that is scheduled in one microtask, in order, each task once', () => {
    const { executor, soon, asked } = executorOn()
    const ran: string[] = []
    const tasks = ['a', 'b', 'c'].map(name => executor.task(() => { ran.push(name) }))
    for (const task of [...tasks, ...tasks]) {
      task.schedule()
    }
    expect([ran, asked()]).toEqual([[], [1, 0]])
    soon()
    expect([ran, asked()]).toEqual([['a', 'b', 'c'], [0, 0]])
    tasks[1]!.schedule()
    soon()
    expect(ran).toEqual(['a', 'b', 'c', 'b'])
  })

  it('runs in the same turn what comes up in it: no hop', () => {
    const { executor, soon, asked } = executorOn()
    const ran: string[] = []
    const second = executor.task(() => { ran.push('second') })
    const first = executor.task(() => {
      second.schedule()
      ran.push('first')
    })
    first.schedule()
    soon()
    expect([ran, asked()]).toEqual([['first', 'second'], [0, 0]])
  })

  it('executes jobs at once when on turn, else with the next turn', () => {
    const { executor, soon } = executorOn()
    const ran: unknown[] = []
    executor.execute(() => {
      ran.push(executor.isOnTurn)
      executor.execute(() => { ran.push('inside') })
      ran.push('after')
    })
    expect([ran, executor.isOnTurn]).toEqual([[], false])
    soon()
    expect([ran, executor.isOnTurn]).toEqual([[true, 'inside', 'after'], false])
  })

  it('leaves a task that wakes itself for the next macrotask (S5.3)', () => {
    const { executor, soon, later, asked } = executorOn()
    let runs = 0
    const task: Task = executor.task(() => {
      runs++
      task.schedule()
      task.schedule()
    })
    task.schedule()
    soon()
    expect([runs, asked()]).toEqual([1, [0, 1]])
    later()
    expect([runs, asked()]).toEqual([2, [0, 1]])
  })

  it('serves others in microtasks while one waits for its macrotask', () => {
    const { executor, soon, later, asked } = executorOn()
    const ran: string[] = []
    const eager = executor.task(() => { ran.push('eager') })
    const other = executor.task(() => { ran.push('other') })
    eager.defer()
    eager.defer()
    other.schedule()
    expect(asked()).toEqual([1, 1])
    soon()
    expect(ran).toEqual(['other'])
    later()
    expect(ran).toEqual(['other', 'eager'])
  })

  it('runs what was deferred once, when it is scheduled before its macrotask', () => {
    const { executor, soon, later, asked } = executorOn()
    const run = vi.fn()
    const task = executor.task(run)
    task.defer()
    task.schedule()
    task.defer()
    soon()
    later()
    expect(run).toHaveBeenCalledOnce()
    task.defer()
    task.schedule()
    soon()
    task.defer()
    later()
    expect(run).toHaveBeenCalledTimes(3)
    expect(asked()).toEqual([0, 0])
  })

  it('goes on in a macrotask when the budget is spent', () => {
    const { executor, host, soon, later, asked } = executorOn({ turnBudgetMs: 10 })
    const ran: number[] = []
    for (let index = 0; index < 5; index++) {
      executor.execute(() => {
        ran.push(index)
        host.now += 6
      })
    }
    soon()
    expect([ran, asked()]).toEqual([[0, 1], [0, 1]])
    later()
    expect([ran, asked()]).toEqual([[0, 1, 2, 3], [0, 1]])
    later()
    expect([ran, asked()]).toEqual([[0, 1, 2, 3, 4], [0, 0]])
  })

  it('counts the work of many microtasks together, so that jobs which come up by promises end in a macrotask as well', () => {
    const { executor, host, soon, later, asked } = executorOn({ turnBudgetMs: 10 })
    const task = executor.task(() => { host.now += 4 })
    for (let turns = 0; turns < 3; turns++) {
      task.schedule()
      expect(asked()).toEqual([1, 0])
      soon()
    }
    task.schedule()
    task.schedule()
    expect(asked()).toEqual([0, 1])
    later()
    task.schedule()
    expect(asked()).toEqual([1, 0])
  })

  it.each([[0, [1, 2, 3]], [Infinity, [3, 3, 3]]])('with a budget of %d ms each macrotask gets on', (turnBudgetMs, progress) => {
    const { executor, host, soon, later } = executorOn({ turnBudgetMs })
    let runs = 0
    for (let left = 3; left > 0; left--) {
      executor.execute(() => {
        runs++
        host.now += 1e9
      })
    }
    soon()
    expect([1, 2, 3].map(() => {
      later()
      return runs
    })).toEqual(progress)
  })

  it('reports what jobs and tasks throw, and goes on', () => {
    const { executor, errors, soon } = executorOn()
    const ran = vi.fn()
    const task = executor.task(() => { throw new Error('task') })
    task.schedule()
    executor.execute(() => {
      executor.execute(() => { throw new Error('inside') })
      ran()
    })
    soon()
    task.schedule()
    soon()
    expect(errors).toEqual([new Error('task'), new Error('inside'), new Error('task')])
    expect(ran).toHaveBeenCalledOnce()
  })

  it('refuses budgets that are none', () => {
    expect(() => executorOn({ turnBudgetMs: -1 })).toThrow(new RangeError(
      'Cannot make an executor: turnBudgetMs must be milliseconds of at least 0, received -1'
    ))
    expect(() => executorOn({ budget: 1 } as CoalescingExecutorInit)).toThrow(TypeError)
  })

  it('allocates nothing for a job', async () => {
    const { executor, turn } = (() => {
      let turn = (): void => {}
      const executor = new CoalescingExecutor({ now: () => 0, soon: (asked) => { turn = asked }, later: (asked) => { turn = asked }, onError: () => {} })
      return { executor, turn: () => { turn() } }
    })()
    let runs = 0
    const tasks = Array.from({ length: 10 }, () => executor.task(() => { runs++ }))
    const job = (): void => { runs++ }
    const work = (rounds: number): void => {
      for (let round = 0; round < rounds; round++) {
        for (let at = 0; at < tasks.length; at++) {
          tasks[at]!.schedule()
        }
        executor.execute(job)
        tasks[0]!.defer()
        turn()
      }
    }
    work(20_000)
    await collectGarbage()
    const before = process.memoryUsage().heapUsed
    work(20_000)
    // The smallest object has 16 bytes: one for each of the 220 000 jobs would be 3.5 MB, and no collection comes before that.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(500_000)
    expect(runs).toBe(440_000)
  })
})

describe('CoalescingExecutor on a real host', () => {
  /** Resolves when a timer has fired and a byte has come back through a socket. */
  async function servedByHost (): Promise<void> {
    const server = createServer((socket) => { socket.pipe(socket) }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.write('a')
    await Promise.all([once(socket, 'data'), new Promise((resolve) => { setTimeout(resolve, 1) })])
    socket.destroy()
    server.close()
  }

  it.each(['by itself', 'by another task', 'by a promise'])('timers and sockets are served under tasks that never stop, woken %s', async (way) => {
    const executor = new CoalescingExecutor({
      now: () => performance.now(),
      soon: (turn) => { queueMicrotask(turn) },
      later: (turn) => { setImmediate(turn) },
      onError: (cause) => { throw cause }
    }, { turnBudgetMs: 1 })
    // Whoever starves the host starves this test, so that the tasks have to give up by themselves.
    const deadline = performance.now() + 4000
    let isServed = false
    const [first, second]: [Task, Task] = [executor.task(() => { wake(first, second) }), executor.task(() => { wake(second, first) })]
    function wake (own: Task, other: Task): void {
      if (isServed || performance.now() > deadline) {
        return
      }
      if (way === 'by itself') {
        own.schedule()
      } else if (way === 'by another task') {
        other.schedule()
      } else {
        void Promise.resolve().then(() => { other.schedule() })
      }
    }
    first.schedule()
    await servedByHost()
    isServed = true
    expect(performance.now()).toBeLessThan(deadline)
  })
})
