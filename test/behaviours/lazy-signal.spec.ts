import { describe, expect, it } from 'vitest'
import { LazySignal } from '../../src/behaviours/lazy-signal.ts'

describe('LazySignal', () => {
  it('gives one signal, which aborts with the first reason', () => {
    const lazy = new LazySignal()
    const { signal } = lazy
    expect(lazy.signal).toBe(signal)
    expect(signal.aborted).toBe(false)
    lazy.abort('first')
    lazy.abort('second')

    expect(signal).toMatchObject({ aborted: true, reason: 'first' })
  })

  it('gives an aborted signal to whoever asks after the end', () => {
    const lazy = new LazySignal()
    lazy.abort('first')
    lazy.abort('second')

    expect(lazy.signal).toMatchObject({ aborted: true, reason: 'first' })
  })
})
