import { afterEach, describe, expect, it, vi } from 'vitest'
import { hostScheduler } from '../../src/libp2p/scheduler.ts'

// The one spec below test/integration that waits in real time: it is about real time.

const scheduler = hostScheduler({ keepProcessAlive: false })

/** What the host's `setTimeout` was asked for. */
function watchTimers () {
  const spy = vi.spyOn(globalThis, 'setTimeout')
  return {
    delays: () => spy.mock.calls.map(([, delay]) => delay),
    handles: () => spy.mock.results.map(({ value }) => value as ReturnType<typeof setTimeout>)
  }
}

async function fires (arm: (timer: ReturnType<typeof scheduler.timer>) => void): Promise<number> {
  return new Promise((resolve) => {
    arm(scheduler.timer(() => { resolve(scheduler.now()) }))
  })
}

afterEach(() => { vi.restoreAllMocks() })

describe('hostScheduler', () => {
  it('tells monotonic milliseconds', () => {
    const before = performance.now()
    const now = scheduler.now()
    expect(now).toBeGreaterThanOrEqual(before)
    expect(now).toBeLessThanOrEqual(performance.now())
  })

  it('runs soon before anything else, and whatever goes on and on with later starves no timer', async () => {
    const order: string[] = []
    await new Promise<void>((resolve) => {
      let isFired = false
      setTimeout(() => { isFired = true; order.push('timer'); resolve() }, 5)
      const goOn = (): void => {
        if (!isFired) {
          scheduler.later(goOn)
        }
      }
      goOn()
      scheduler.later(() => { order.push('later') })
      scheduler.soon(() => { order.push('soon') })
      order.push('now')
    })
    expect(order).toEqual(['now', 'soon', 'later', 'timer'])
  })

  it('falls back to a message channel where there is no setImmediate, as in browsers', async () => {
    const ports: MessagePort[] = []
    vi.stubGlobal('setImmediate', undefined)
    vi.stubGlobal('MessageChannel', class extends MessageChannel {
      constructor () {
        super()
        ports.push(this.port1, this.port2)
      }
    })
    const inBrowser = hostScheduler({ keepProcessAlive: false })
    vi.unstubAllGlobals()
    const order: string[] = []
    await new Promise<void>((resolve) => {
      inBrowser.later(() => { order.push('first') })
      inBrowser.later(() => { order.push('second'); resolve() })
      order.push('now')
    })
    expect(order).toEqual(['now', 'first', 'second'])
    for (const port of ports) {
      port.close()
    }
  })
})

describe('a timer of hostScheduler', () => {
  it('fires at its deadline, never before', async () => {
    const deadline = scheduler.now() + 20
    expect(await fires((timer) => { timer.arm(deadline) })).toBeGreaterThanOrEqual(deadline)
  })

  it('fires at once for a deadline that has passed', async () => {
    const begun = scheduler.now()
    expect(await fires((timer) => { timer.arm(begun - 1000) })).toBeLessThan(begun + 1000)
  })

  it('leaves the host\'s timer alone when the deadline moves away, and fires at the later one', async () => {
    const timers = watchTimers()
    const deadline = scheduler.now() + 30
    const fired = await fires((timer) => {
      timer.arm(deadline - 25)
      timer.arm(deadline - 10)
      timer.arm(deadline)
      expect(timers.delays()).toHaveLength(1)
    })
    expect(fired).toBeGreaterThanOrEqual(deadline)
    expect(timers.delays()).toHaveLength(2)
  })

  it('fires at the earlier one when the deadline moves near', async () => {
    const now = scheduler.now()
    expect(await fires((timer) => {
      timer.arm(now + 60_000)
      timer.arm(now + 5)
    })).toBeLessThan(now + 10_000)
  })

  it('does not fire once cleared, nor for Infinity, and may be armed again', async () => {
    let count = 0
    const timer = scheduler.timer(() => { count++ })
    timer.arm(scheduler.now() + 5)
    timer.clear()
    timer.clear()
    timer.arm(Infinity)
    timer.arm(scheduler.now() + 1)
    timer.arm(Infinity)
    await fires((other) => { other.arm(scheduler.now() + 20) })
    expect(count).toBe(0)
    timer.arm(scheduler.now())
    await fires((other) => { other.arm(scheduler.now() + 10) })
    expect(count).toBe(1)
  })

  it('leaves the timer of the host alone when the deadline comes again, or moves away', () => {
    const timers = watchTimers()
    const timer = scheduler.timer(() => {})
    const deadline = scheduler.now() + 60_000.5
    for (const again of [deadline, deadline, deadline + 1, deadline]) {
      timer.arm(again)
    }
    expect(timers.delays()).toHaveLength(1)
    timer.arm(deadline - 1000)
    expect(timers.delays()).toHaveLength(2)
    timer.clear()
  })

  it.each([2 ** 31, 2 ** 53 - 1])('takes a delay of %d ms for practically never (C03)', async (delay) => {
    const timers = watchTimers()
    let count = 0
    const timer = scheduler.timer(() => { count++ })
    timer.arm(scheduler.now() + delay)
    await fires((other) => { other.arm(scheduler.now() + 50) })
    expect(count).toBe(0)
    expect(timers.delays()[0]).toBe(2 ** 31 - 1)
    timer.clear()
  })

  it.each([
    { keepProcessAlive: false },
    { keepProcessAlive: true }
  ])('holds the process as it is told to: $keepProcessAlive (S6.10)', ({ keepProcessAlive }) => {
    const timers = watchTimers()
    const timer = hostScheduler({ keepProcessAlive }).timer(() => {})
    timer.arm(scheduler.now() + 60_000)
    expect(timers.handles().map((handle) => handle.hasRef())).toEqual([keepProcessAlive])
    timer.clear()
  })

  it('works with the numbers that browsers have for timers', () => {
    vi.spyOn(globalThis, 'setTimeout').mockReturnValue(7 as never)
    const cleared = vi.spyOn(globalThis, 'clearTimeout')
    const timer = scheduler.timer(() => {})
    timer.arm(scheduler.now() + 60_000)
    timer.clear()
    expect(cleared).toHaveBeenCalledWith(7)
  })
})
