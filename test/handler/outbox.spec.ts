import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { Outbox } from '../../src/handler/outbox.ts'
import type { PollContext } from '../../src/core/poll.ts'

function context (): PollContext & { wakes: number } {
  const cx = { now: 0, wakes: 0, wake () { cx.wakes++ }, wakeAt () {} }
  return cx
}

describe('Outbox (S4.16)', () => {
  it('gives values in order, undefined too, then PENDING', () => {
    const outbox = new Outbox<number | undefined>()
    const cx = context()
    outbox.push(1)
    outbox.push(undefined)
    outbox.push(3)
    expect(outbox.size).toBe(3)
    expect([outbox.poll(cx), outbox.poll(cx), outbox.poll(cx), outbox.poll(cx)]).toEqual([1, undefined, 3, PENDING])
  })

  it('wakes whoever polled it last, and nobody before', () => {
    const outbox = new Outbox<number>()
    const [first, second] = [context(), context()]
    expect(outbox.push(1)).toBe(true)
    outbox.poll(first)
    outbox.poll(second)
    outbox.push(2)
    expect([first.wakes, second.wakes]).toEqual([0, 1])
  })

  it('at capacity it keeps nothing, wakes nobody and answers false', () => {
    const outbox = new Outbox<number>(2)
    const cx = context()
    outbox.poll(cx)
    expect([outbox.push(1), outbox.push(2), outbox.push(3)]).toEqual([true, true, false])
    expect(cx.wakes).toBe(2)
    expect([outbox.poll(cx), outbox.push(4), outbox.poll(cx), outbox.poll(cx), outbox.poll(cx)]).toEqual([1, true, 2, 4, PENDING])
  })

  it('holds 1024 unless told otherwise, and refuses a capacity that is none', () => {
    const outbox = new Outbox<number>()
    const taken = Array.from({ length: 1030 }, (_, at) => outbox.push(at)).filter(Boolean)
    expect(taken).toHaveLength(1024)
    expect(() => new Outbox(-1)).toThrow(RangeError)
  })
})
