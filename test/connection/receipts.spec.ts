import { describe, expect, it } from 'vitest'
import { composeHandlers } from '../../src/handler/compose.ts'
import { RecordingHandler, ScriptedConnection } from '../../src/testing/index.ts'
import { outputsOf, reportsOf } from '../support/scripted.ts'

const receiptsOf = (test: ScriptedConnection) => outputsOf(test, 'handler-notified').map(({ token, event, delivered }) => ({ token, event, delivered }))

describe('what became of a message to the handler (S7.11)', () => {
  it('is told to senders with a token when it was taken', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler)
    test.connection.onBehaviourEvent('without')
    test.connection.onBehaviourEvent('with', 't')
    test.drive()
    expect(handler.behaviourEvents).toEqual(['without', 'with'])
    expect(receiptsOf(test)).toEqual([{ token: 't', event: 'with', delivered: true }])
  })

  it('is that it was taken where the handler does not listen', () => {
    const test = new ScriptedConnection({ listenProtocols: () => [], onConnectionEvent: () => undefined })
    test.connection.onBehaviourEvent('with', 't')
    test.drive()
    expect(receiptsOf(test)).toEqual([{ token: 't', event: 'with', delivered: true }])
    expect(reportsOf(test, 'handler-error')).toEqual([])
  })

  it('is told to every sender when nobody takes it', () => {
    const test = new ScriptedConnection(composeHandlers({ one: new RecordingHandler() }))
    const event = { handler: 'none', event: 1 }
    test.connection.onBehaviourEvent(event)
    test.connection.onBehaviourEvent(event, 't')
    test.drive()
    expect(receiptsOf(test)).toEqual([{ token: undefined, event, delivered: false }, { token: 't', event, delivered: false }])
  })

  it('is told to nobody when the handler threw at it, which is reported as an error (S4.15)', () => {
    const test = new ScriptedConnection({
      listenProtocols: () => [], onConnectionEvent: () => undefined, onBehaviourEvent: () => { throw new Error('broken') }
    })
    test.connection.onBehaviourEvent('with', 't')
    test.drive()
    expect(receiptsOf(test)).toEqual([])
    expect(reportsOf(test, 'handler-error')).toMatchObject([{ method: 'onBehaviourEvent' }])
  })
})
