/** S2.36 in words: the message of each failure names the phase, the peer and the names that were tried. */

import { describe, expect, it } from 'vitest'
import { abortOf } from '../../src/connection/stream-failure.ts'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { wire } from '../support/wire.ts'

describe('the message of a failed request', () => {
  const where = (phase: string) => `(phase ${phase}, peer peer, tried /a)`

  function fail (provoke: (test: ScriptedConnection, stream: ReturnType<ScriptedConnection['grant']>) => void): Error | undefined {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity, outboundTimeoutMs: 100 } })
    handler.request(['/a'])
    test.drive()
    provoke(test, test.grant())
    test.drive()
    return handler.eventsOf('dial-upgrade-error')[0]?.error
  }

  it.each<[string, string, Parameters<typeof fail>[0]]>([
    ['no agreement', `No protocol agreed: the peer has none of them ${where('confirmation')}`, (test, stream) => { test.feed(stream, wire('HDR NA')) }],
    ['an end in place of an answer', `No protocol agreed: the peer ended the stream ${where('confirmation')}`, (test, stream) => {
      test.feed(stream, wire('HDR'))
      test.connection.handleStreamEnd(stream)
    }],
    ['a broken protocol', `Protocol broken by the peer: expected "/a" or "na", received "/b" ${where('confirmation')}`, (test, stream) => { test.feed(stream, wire('HDR B')) }],
    ['an end inside a message', `The stream ended inside a message ${where('header')}`, (test, stream) => {
      test.feed(stream, wire('13'))
      test.connection.handleStreamEnd(stream)
    }],
    ['a reset', `The stream was reset ${where('header')}`, (test, stream) => { test.connection.handleStreamReset(stream) }],
    ['a deadline', `Timed out after 100 ms ${where('header')}`, test => { test.advance(100) }]
  ])('tells of %s', (_, message, provoke) => {
    const error = fail(provoke)
    expect(error?.message).toBe(`Cannot open stream: ${message}`)
    expect(error?.cause).toMatchObject({ message })
    expect(Object.hasOwn(error?.cause as object, 'cause')).toBe(false)
  })

  it('tells of something thrown that has no message', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler)
    handler.request(['/a'], { upgrade: () => { throw 'a text' } }) // eslint-disable-line @typescript-eslint/only-throw-error
    test.drive()
    const stream = test.grant()
    test.feed(stream, wire('HDR A'))
    expect(handler.eventsOf('dial-upgrade-error')).toMatchObject([
      { error: { kind: 'apply', message: `Cannot open stream: apply ${where('confirmation')}`, cause: 'a text' } }
    ])
    expect(stream.resets).toMatchObject([{ message: 'a text', cause: 'a text' }])
  })

  it('has a cause only where there is one', () => {
    const failure = { phase: 'open', tried: [], direction: 'outbound', peer: 'peer', connectionId: 'c', elapsedMs: 0 } as const
    expect(abortOf('Cancelled', failure, 'why')).toMatchObject({ message: 'Cancelled (phase open, peer peer)', cause: 'why' })
    expect(Object.hasOwn(abortOf('Cancelled', failure), 'cause')).toBe(false)
  })

  it('tells of a time that is none (S1.4)', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler)
    handler.request(['/a'], { timeoutMs: -1 })
    test.drive()
    expect(handler.eventsOf('dial-upgrade-error')).toMatchObject([
      { error: { message: 'Cannot open stream: timeoutMs must be milliseconds of at least 0, received -1' } }
    ])
  })
})
