import { describe, expect, it } from 'vitest'
import { PENDING, asyncUpgrade } from '../../src/index.ts'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { reportsOf } from '../support/scripted.ts'
import { wire } from '../support/wire.ts'

/** A request whose stream is agreed, and whose upgrade runs `run`. */
function upgrading (run: (signal: AbortSignal) => PromiseLike<unknown>) {
  const handler = new RecordingHandler()
  const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity, outboundTimeoutMs: 1000 } })
  handler.push({ type: 'outbound-stream-request', protocols: ['/a'], info: 'x', token: 't', upgrade: () => asyncUpgrade(run) })
  test.drive()
  const stream = test.grant()
  test.feed(stream, wire('HDR A'))
  const settle = async (): Promise<void> => {
    // The promise of the upgrade, and what follows it.
    await Promise.resolve()
    await Promise.resolve()
    test.drive()
  }
  return { handler, test, stream, settle }
}

/** A promise that never settles, and the signal of its upgrade. */
function endless () {
  const signals: AbortSignal[] = []
  const setup = upgrading(signal => {
    signals.push(signal)
    return new Promise(() => {})
  })
  return { ...setup, signals }
}

describe('asyncUpgrade (S4.4)', () => {
  it('gives what the promise resolves with, undefined too', async () => {
    for (const output of ['done', undefined]) {
      const { handler, settle } = upgrading(() => Promise.resolve(output))
      expect(handler.eventsOf('fully-negotiated-outbound')).toEqual([])
      await settle()
      expect(handler.eventsOf('fully-negotiated-outbound')).toMatchObject([{ info: 'x', output }])
    }
  })

  it('calls the function once, with a signal that is not aborted when all goes well', async () => {
    const signals: AbortSignal[] = []
    const { test, stream, settle } = upgrading(signal => {
      signals.push(signal)
      return Promise.resolve(1)
    })
    await settle()
    test.connection.handleStreamReset(stream)
    test.drive()
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  })

  it.each([
    { name: 'rejects', run: (): Promise<never> => Promise.reject(new Error('no header')) },
    { name: 'throws', run: (): Promise<never> => { throw new Error('no header') } }
  ])('fails with kind apply when the function $name, and resets the stream (S4.15)', async ({ run }) => {
    const { handler, stream, settle } = upgrading(run)
    await settle()
    expect(handler.eventsOf('dial-upgrade-error')).toMatchObject([{ info: 'x', error: { kind: 'apply', cause: { message: 'no header' } } }])
    expect(stream.resets).toHaveLength(1)
  })

  it('aborts the signal at the deadline (S2.33)', () => {
    const { handler, test, signals } = endless()
    test.clock.advance(1000)
    test.drive()
    expect(signals.map(({ aborted, reason }) => [aborted, (reason as Error).name])).toEqual([[true, 'TimeoutError']])
    expect(handler.eventsOf('dial-upgrade-error')).toMatchObject([{ error: { kind: 'timeout' } }])
  })

  it.each([
    { name: 'the stream is reset', kind: 'io', end: ({ test, stream }: ReturnType<typeof endless>) => { test.connection.handleStreamReset(stream) } },
    { name: 'the request is cancelled', kind: 'aborted', end: ({ handler }: ReturnType<typeof endless>) => { handler.push({ type: 'cancel-outbound-request', token: 't' }) } },
    { name: 'the connection closes', kind: 'connection-closed', end: ({ test }: ReturnType<typeof endless>) => { test.connection.close() } }
  ])('aborts the signal when $name', ({ kind, end }) => {
    const setup = endless()
    end(setup)
    setup.test.drive()
    expect(setup.signals.map(({ aborted }) => aborted)).toEqual([true])
    expect(setup.handler.eventsOf('dial-upgrade-error')).toMatchObject([{ error: { kind } }])
  })

  it('ignores what the promise does after that', async () => {
    let reject = (_reason: unknown): void => {}
    const { handler, test, stream, settle } = upgrading(() => new Promise((_resolve, fail) => { reject = fail }))
    test.connection.handleStreamReset(stream)
    test.drive()
    reject(new Error('too late'))
    await settle()
    expect(handler.eventsOf('dial-upgrade-error')).toMatchObject([{ error: { kind: 'io' } }])
  })
})

describe('StreamUpgrade.end', () => {
  it('is called once, and what it throws is reported (S4.15)', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity } })
    let ends = 0
    const end = (): never => {
      ends++
      throw new Error('end failed')
    }
    handler.push({ type: 'outbound-stream-request', protocols: ['/a'], info: 'x', upgrade: () => ({ poll: cx => { cx.wake(); throw new Error('apply') }, end }) })
    test.drive()
    test.feed(test.grant(), wire('HDR A'))
    expect(ends).toBe(0)
    handler.push({ type: 'outbound-stream-request', protocols: ['/a'], info: 'x', token: 't', upgrade: () => ({ poll: cx => { cx.wakeAt(1e9); return PENDING }, end }) })
    test.drive()
    test.feed(test.grant(), wire('HDR A'))
    test.connection.close()
    test.drive()
    expect(ends).toBe(1)
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ method: 'StreamUpgrade.end', cause: { message: 'end failed' } }])
  })
})
