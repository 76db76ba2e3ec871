import { describe, expect, it } from 'vitest'
import { TurnBudget } from '../../src/libp2p/turn-budget.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'

/** A budget of 5 ms a turn, and turns that are run to their end. */
function budgeted () {
  const scheduler = new ManualScheduler()
  const budget = new TurnBudget(scheduler, 5)
  const turn = () => {
    scheduler.run(scheduler.macrotasks)
    while (scheduler.microtasks.length > 0) {
      scheduler.run(scheduler.microtasks)
    }
  }
  return { scheduler, budget, turn }
}

describe('TurnBudget (S5.3)', () => {
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
    const { scheduler, budget, turn } = budgeted()
    const log: string[] = []
    for (const name of ['a', 'b']) {
      budget.later(() => {
        log.push(name)
        scheduler.soon(() => { scheduler.advance(6) })
      })
    }
    turn()
    expect(log).toEqual(['a'])
    turn()
    expect(log).toEqual(['a', 'b'])
  })

  it('goes on after a task that threw', () => {
    const { scheduler, budget } = budgeted()
    const log: string[] = []
    budget.later(() => { throw new Error('broken') })
    budget.later(() => { log.push('b') })
    expect(() => { scheduler.run(scheduler.macrotasks) }).toThrow('broken')
    scheduler.run(scheduler.microtasks)
    expect(log).toEqual(['b'])
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

  it('asks for no turn when nothing waits', () => {
    const { scheduler, budget, turn } = budgeted()
    budget.later(() => {})
    turn()
    expect(scheduler.macrotasks).toEqual([])
  })
})
