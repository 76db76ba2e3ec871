import { describe, expect, it } from 'vitest'
import { TimedSet } from '../../src/behaviours/timed-set.ts'
import type { PollContext } from '../../src/core/poll.ts'

/** A poll at `now`; `wakeInstant` is what was asked for. */
class Poller implements PollContext {
  now = 0
  wakeInstant = Infinity

  wake (): void {}
  wakeAt (instant: number): void { this.wakeInstant = instant }
}

describe('TimedSet', () => {
  it('begins the time of an item with the poll after it was added', () => {
    const set = new TimedSet<string>()
    const cx = new Poller()
    set.add('a', 100)
    cx.now = 50
    expect(set.takeExpired(cx)).toEqual([])
    expect(cx.wakeInstant).toBe(150)
    cx.now = 149
    expect(set.takeExpired(cx)).toEqual([])
    cx.now = 150
    expect(set.takeExpired(cx)).toEqual(['a'])
    expect([set.size, cx.wakeInstant]).toEqual([0, Infinity])
  })

  it('forgets the time of an item that was taken out before any poll', () => {
    const set = new TimedSet<string>()
    const cx = new Poller()
    set.add('a', 100)
    set.delete('a')
    set.add('a', Infinity)
    set.takeExpired(cx)
    cx.now = 200
    expect(set.takeExpired(cx)).toEqual([])
    expect([set.size, cx.wakeInstant]).toEqual([1, Infinity])
  })

  it('expires items in order of addition, and asks for the next instant', () => {
    const set = new TimedSet<string>()
    const cx = new Poller()
    set.add('late', 300)
    set.add('soon', 100)
    set.add('also soon', 100)
    set.add('never', Infinity)
    set.takeExpired(cx)
    cx.now = 200

    expect(set.takeExpired(cx)).toEqual(['soon', 'also soon'])
    expect([...set]).toEqual(['late', 'never'])
    expect(cx.wakeInstant).toBe(300)
  })

  it('forgets what was taken out, before and after its time began', () => {
    const set = new TimedSet<string>()
    const cx = new Poller()
    set.add('fresh', 100)
    set.delete('fresh')
    set.takeExpired(cx)
    expect(cx.wakeInstant).toBe(Infinity)

    set.add('dated', 100)
    set.takeExpired(cx)
    set.delete('dated')
    cx.now = 100
    expect(set.takeExpired(cx)).toEqual([])
    expect(cx.wakeInstant).toBe(Infinity)
  })
})
