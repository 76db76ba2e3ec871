import { describe, expect, it } from 'vitest'
import { TurnBudget } from '../../src/libp2p/turn-budget.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'

/** A budget of 5 ms, and work that takes the time that it is told. */
function budgeted () {
  const scheduler = new ManualScheduler()
  const budget = new TurnBudget(scheduler, 5)
  const work = (milliseconds: number) => {
    budget.begin()
    scheduler.advance(milliseconds)
    budget.end()
  }
  const turn = () => {
    scheduler.run(scheduler.macrotasks)
    while (scheduler.microtasks.length > 0) {
      scheduler.run(scheduler.microtasks)
    }
  }
  return { scheduler, budget, work, turn }
}

describe('TurnBudget (S5.3)', () => {
  it('is spent once work came to more than it, until the next turn', () => {
    const { budget, work, turn } = budgeted()
    work(3)
    work(2)
    expect(budget.isSpent).toBe(false)
    work(0.1)
    expect(budget.isSpent).toBe(true)
    turn()
    expect(budget.isSpent).toBe(false)
  })

  it('counts work inside of other work once', () => {
    const { scheduler, budget, work } = budgeted()
    budget.begin()
    work(2)
    work(2)
    scheduler.advance(1)
    budget.end()
    expect(budget.isSpent).toBe(false)
  })

  it('runs what waits in order, as much as there is time for in each turn, and what comes up meanwhile last', () => {
    const { scheduler, budget, turn } = budgeted()
    const log: string[] = []
    for (const name of ['a', 'b', 'c', 'd']) {
      budget.later(() => {
        log.push(name)
        scheduler.advance(3)
        if (name === 'a') {
          budget.later(() => { log.push('e') })
        }
      })
    }
    expect(log).toEqual([])
    const turns = [1, 2, 3].map(() => {
      turn()
      return log.join('')
    })
    expect(turns).toEqual(['ab', 'abcd', 'abcde'])
    expect(scheduler.macrotasks).toEqual([])
  })

  it('counts what a task leads to in microtasks before the next one', () => {
    const { scheduler, budget, work, turn } = budgeted()
    const log: string[] = []
    for (const name of ['a', 'b']) {
      budget.later(() => {
        log.push(name)
        scheduler.soon(() => { work(6) })
      })
    }
    turn()
    expect(log).toEqual(['a'])
    turn()
    expect(log).toEqual(['a', 'b'])
  })

  it('0 lets one task run each turn', () => {
    const scheduler = new ManualScheduler()
    scheduler.tickMs = 1
    const budget = new TurnBudget(scheduler, 0)
    const log: number[] = []
    budget.later(() => { log.push(1) })
    budget.later(() => { log.push(2) })
    for (let turns = 0; turns < 2; turns++) {
      scheduler.run(scheduler.macrotasks)
      scheduler.run(scheduler.microtasks)
      expect(log).toHaveLength(turns + 1)
    }
  })

  it('asks for no turn as long as there is time', () => {
    const { scheduler, work } = budgeted()
    work(1)
    work(1)
    expect(scheduler.macrotasks).toEqual([])
  })
})
