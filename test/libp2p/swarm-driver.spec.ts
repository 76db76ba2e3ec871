import { describe, expect, it } from 'vitest'
import { Outbox } from '../../src/handler/outbox.ts'
import { SwarmDriver } from '../../src/libp2p/swarm-driver.ts'
import { PENDING } from '../../src/core/poll.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'
import type { KeyedEvent } from '../../src/behaviour/inference.ts'
import type { NetworkBehaviour } from '../../src/behaviour/network-behaviour.ts'
import type { ToSwarm } from '../../src/behaviour/to-swarm.ts'
import type { PollContext } from '../../src/core/poll.ts'
import type { DrainedConnection } from '../../src/libp2p/swarm-driver.ts'

type Output = ToSwarm<KeyedEvent<string, string>>

/** A root that emits what the test pushes, and does what the test wants when it is polled. */
class ScriptedRoot implements NetworkBehaviour<KeyedEvent<string, string>> {
  readonly #outbox = new Outbox<Output>()
  onPoll: ((cx: PollContext) => void) | undefined

  commitEstablished () { return undefined }

  emit (event: string): void {
    this.#outbox.push({ type: 'event', event: { behaviour: 'root', peer: undefined as never, connection: undefined, event } })
  }

  poll (cx: PollContext) {
    this.onPoll?.(cx)
    return this.#outbox.poll(cx)
  }
}

function driven ({ turnBudgetMs = 5 } = {}) {
  const scheduler = new ManualScheduler()
  const root = new ScriptedRoot()
  const events: string[] = []
  const errors: unknown[] = []
  let idle = 0
  const on: { event: ((event: string) => void) | undefined } = { event: undefined }
  const driver = new SwarmDriver<DrainedConnection>({
    root,
    scheduler,
    turnBudgetMs,
    onEvent: (event) => {
      const text = event.type === 'behaviour-event' ? String(event.event.event) : event.type
      events.push(text)
      on.event?.(text)
    },
    onIdle: () => { idle++ },
    onError: (cause) => { errors.push(cause) }
  })
  driver.turn()
  return { scheduler, root, driver, events, errors, on, idle: () => idle }
}

describe('SwarmDriver', () => {
  it('drains an input inside the call that brings it (S5.3)', () => {
    const { root, driver, events } = driven()
    driver.turn(() => { root.emit('a'); root.emit('b') })
    expect(events).toEqual(['a', 'b'])
  })

  it('drains after a wake from outside in one microtask, however often it was woken (C27, S10.20)', () => {
    const { scheduler, root, events } = driven()
    root.emit('a')
    root.emit('b')
    expect(events).toEqual([])
    expect(scheduler.microtasks).toHaveLength(1)
    scheduler.run(scheduler.microtasks)
    expect(events).toEqual(['a', 'b'])
    root.emit('c')
    scheduler.run(scheduler.microtasks)
    expect(events).toEqual(['a', 'b', 'c'])
  })

  it('queues what comes up during a drain, and does it in order, each with a drain of its own', () => {
    const { root, driver, events, on } = driven()
    on.event = (event) => {
      if (event === 'a') {
        expect(driver.isBusy).toBe(true)
        driver.turn(() => { root.emit('first input') })
        driver.whenIdle(() => { expect(driver.isBusy).toBe(false); events.push('task') })
        driver.turn(() => { root.emit('second input') })
      }
    }
    driver.turn(() => { root.emit('a'); root.emit('b') })
    expect(events).toEqual(['a', 'b', 'first input', 'task', 'second input'])
    expect(driver.isBusy).toBe(false)
  })

  it('needs no stack for a long row of queued inputs', () => {
    const { root, driver, events, on } = driven()
    on.event = (event) => {
      if (event === 'go') {
        for (let count = 0; count < 20_000; count++) {
          driver.turn(() => { root.emit('more') })
        }
      }
    }
    driver.turn(() => { root.emit('go') })
    expect(events).toHaveLength(20_001)
  })

  it('goes on in a macrotask when a machine wakes itself (S5.3)', () => {
    const { scheduler, root, driver } = driven()
    let polls = 0
    root.onPoll = (cx) => {
      polls++
      if (polls <= 3) {
        cx.wake()
      }
    }
    driver.turn()
    root.emit('')
    scheduler.run(scheduler.microtasks)
    const before = polls
    expect(scheduler.macrotasks).toHaveLength(1)
    scheduler.run(scheduler.macrotasks)
    expect(polls).toBeGreaterThan(before)
  })

  it('goes on in a macrotask when wakes by a promise each have spent the time of a turn, and not before (S5.3)', () => {
    const { scheduler, root, events } = driven({ turnBudgetMs: 10 })
    scheduler.tickMs = 1
    let microtasks = 0
    const wakeByPromise = () => { root.emit('again') }
    for (; scheduler.macrotasks.length === 0 && microtasks < 100; microtasks++) {
      wakeByPromise()
      scheduler.run(scheduler.microtasks)
    }
    expect(microtasks).toBeGreaterThan(1)
    expect(microtasks).toBeLessThan(20)
    wakeByPromise()
    expect(scheduler.microtasks).toEqual([])
    scheduler.run(scheduler.macrotasks)
    expect(events).toHaveLength(microtasks + 1)
    wakeByPromise()
    expect(scheduler.microtasks).toHaveLength(1)
  })

  it('allocates no job for a wake: it is the same function each time', () => {
    const { scheduler, root } = driven()
    root.emit('a')
    const [first] = scheduler.microtasks
    scheduler.run(scheduler.microtasks)
    root.emit('b')
    expect(scheduler.microtasks).toEqual([first])
  })

  it('stops when the time of the turn is up, and goes on in a macrotask', () => {
    const { scheduler, root, driver, events } = driven({ turnBudgetMs: 5 })
    scheduler.tickMs = 2
    driver.turn(() => {
      for (const event of ['1', '2', '3', '4', '5']) {
        root.emit(event)
      }
    })
    expect(events).toEqual(['1', '2', '3'])
    expect(driver.isBusy).toBe(false)
    expect(scheduler.macrotasks).toHaveLength(1)
    scheduler.run(scheduler.macrotasks)
    expect(events).toEqual(['1', '2', '3', '4', '5'])
  })

  it('drains the connection whose input it was, whatever the time', () => {
    const { scheduler, root, driver, events } = driven({ turnBudgetMs: 1 })
    scheduler.tickMs = 2
    const connection = { isDrained: false } as DrainedConnection
    driver.turn(() => {
      for (const event of ['1', '2', '3']) {
        root.emit(event)
      }
    }, connection)
    expect(events).toEqual(['1', '2', '3'])
  })

  it('polls behaviours at the instant that they asked for', () => {
    const { scheduler, root, driver, events } = driven()
    const instants: number[] = []
    root.onPoll = (cx) => {
      instants.push(cx.now)
      root.onPoll = (later) => { instants.push(later.now) }
      cx.wakeAt(100)
    }
    driver.turn(() => { root.emit('start') })
    const polls = instants.length
    scheduler.advance(99)
    expect(instants).toHaveLength(polls)
    scheduler.advance(1)
    expect(instants.slice(polls)).toContain(100)
    expect(events).toEqual(['start'])
  })

  it('contains what inputs, events and queued tasks throw, and goes on', () => {
    const { root, driver, events, errors, on } = driven()
    on.event = (event) => {
      if (event === 'bad event') {
        throw new Error('event')
      }
    }
    driver.turn(() => { root.emit('good'); throw new Error('input') })
    driver.turn(() => {
      driver.whenIdle(() => { throw new Error('task') })
      root.emit('bad event')
      root.emit('good again')
    })
    expect(events).toEqual(['good', 'bad event', 'good again'])
    expect(errors).toMatchObject([{ message: 'input' }, { message: 'event' }, { message: 'task' }])
    expect(driver.isBusy).toBe(false)
  })

  it('survives a machine that throws: the next turn is as any other', () => {
    const { driver, errors } = driven()
    driver.turn(() => { driver.swarm.poll(0) })
    expect(errors).toEqual([])
    driver.swarm.poll = () => { throw new Error('machine') }
    driver.turn()
    expect(errors).toMatchObject([{ message: 'machine' }])
    driver.swarm.poll = () => PENDING
    driver.turn()
    expect(driver.isBusy).toBe(false)
  })

  it('says when nothing waits any more, once per row of inputs', () => {
    const { root, driver, on, idle } = driven()
    const before = idle()
    on.event = (event) => {
      if (event === 'a') {
        driver.turn(() => { root.emit('b') })
      }
    }
    driver.turn(() => { root.emit('a') })
    expect(idle()).toBe(before + 1)
  })
})
