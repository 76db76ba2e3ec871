import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { composeHandlers } from '../../src/handler/compose.ts'
import { ProtocolList } from '../../src/protocols/index.ts'
import { RecordingHandler, ScriptedConnection, ScriptedStream } from '../../src/testing/index.ts'
import { eventsOf, failuresOf, inbound, outbound, outputsOf, reportsOf, settle } from '../support/scripted.ts'
import { wire } from '../support/wire.ts'
import type { ConnectionInit } from '../../src/connection/index.ts'
import type { Poll, PollContext, Waker } from '../../src/core/poll.ts'

/** A list that shows who is woken by it. */
class CountingList extends ProtocolList {
  readonly wakers = new Set<Waker>()

  override attach (waker: Waker): void {
    this.wakers.add(waker)
    super.attach(waker)
  }

  override detach (waker: Waker): void {
    this.wakers.delete(waker)
    super.detach(waker)
  }
}

/** A handler that has last events. */
class ClosingHandler extends RecordingHandler {
  /** What `pollClose` gives, in this order, and then `undefined`. */
  last: Array<Poll<unknown>> = []
  closePolls = 0
  listings = 0
  closeCx: PollContext | undefined

  override listenProtocols (): ReturnType<RecordingHandler['listenProtocols']> {
    this.listings++
    return super.listenProtocols()
  }

  pollClose (cx: PollContext): Poll<unknown> {
    this.closeCx = cx
    this.closePolls++
    return this.last.shift()
  }
}

interface Setup {
  readonly handler: ClosingHandler
  readonly test: ScriptedConnection
}

function setup (init: ConnectionInit = {}): Setup {
  const handler = new ClosingHandler(['/a'])
  return { handler, test: new ScriptedConnection(handler, { init: { idleTimeoutMs: Infinity, ...init } }) }
}

function close (test: ScriptedConnection): void {
  test.connection.close()
  test.drive()
}

describe('Connection: graceful close', () => {
  it('ends streams, then requests, then hears the handler out, then closes the muxer, then says so (S6.6)', () => {
    const { handler, test } = setup({ maxNegotiatingInboundStreams: 1, maxNegotiatingOutboundStreams: 3 })
    const open = outbound(test, handler, 'open')
    handler.push({ type: 'outbound-stream-request', protocols: ['/a'], info: 'upgrading', upgrade: () => ({ poll: () => PENDING }) })
    for (const info of ['negotiating', 'opening', 'waiting']) {
      handler.request(['/a'], { info })
    }
    test.drive()
    const upgrading = test.grant()
    test.feed(upgrading, wire('HDR A'))
    const negotiating = test.grant()
    handler.request(['/a'], { info: 'more' })
    test.drive()
    const [arriving, queued] = [test.offer(), test.offer()]
    handler.last = ['last', 'words']
    close(test)
    expect([arriving, queued, upgrading, negotiating].map(({ resets }) => resets.length)).toEqual([1, 1, 1, 1])
    expect(open.resets).toEqual([])
    expect(failuresOf(handler).map(([info]) => info).sort()).toEqual(['more', 'negotiating', 'opening', 'upgrading', 'waiting'])
    expect(failuresOf(handler).every(([, kind]) => kind === 'connection-closed')).toBe(true)
    expect(eventsOf(test)).toEqual(['last', 'words'])
    expect(handler.closePolls).toBe(3)
    expect([test.muxer.closes, test.muxer.aborts.length]).toEqual([1, 0])
    expect(outputsOf(test, 'closed')).toEqual([])
    test.connection.handleMuxerClosed()
    test.drive()
    expect(test.outputs.at(-1)).toEqual({ type: 'closed', reason: 'local-close', cause: undefined, undelivered: [] })
    expect(test.connection.status).toEqual({ phase: 'closed', reason: 'local-close', cause: undefined })
    expect([...test.connection.streams]).toEqual([])
    expect(test.connection.pollTimeout()).toBe(Infinity)
  })

  it('what is queued for the handler is handled first, what comes behind the close is given back (S6.9, S7.12)', () => {
    const { handler, test } = setup()
    test.connection.onBehaviourEvent('before')
    test.connection.close()
    expect(test.connection.onBehaviourEvent('behind')).toBe(true)
    test.connection.close()
    expect(test.connection.onBehaviourEvent('further behind')).toBe(true)
    test.drive()
    expect(test.connection.onBehaviourEvent('late')).toBe(false)
    test.connection.handleMuxerClosed()
    test.drive()
    expect(handler.behaviourEvents).toEqual(['before'])
    const [closed] = outputsOf(test, 'closed')
    expect(closed?.undelivered).toEqual(['behind', 'further behind'])
    expect(Object.isFrozen(closed?.undelivered)).toBe(true)
    expect(test.connection.onBehaviourEvent('too late')).toBe(false)
  })

  it('is one close however often it is asked for (S6.4, S6.8)', () => {
    const { test } = setup()
    for (let time = 0; time < 3; time++) {
      test.connection.close()
    }
    test.drive()
    close(test)
    test.connection.handleMuxerClosed()
    test.connection.handleMuxerClosed()
    test.drive()
    close(test)
    test.connection.abort(new Error('too late'))
    test.connection.handleMuxerError(new Error('too late'))
    test.drive()
    expect([test.muxer.closes, test.muxer.aborts.length]).toEqual([1, 0])
    expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'local-close' }])
  })

  it('asks for no turn when it is asked to close while it closes (S6.4)', () => {
    const { test } = setup()
    close(test)
    const { wakes } = test
    test.connection.close()
    expect(test.wakes).toBe(wakes)
  })

  it('waits for a handler that is pending, until it wakes (S6.6 c)', () => {
    const { handler, test } = setup()
    handler.last = ['first', PENDING, 'second']
    close(test)
    expect(eventsOf(test)).toEqual(['first'])
    expect([handler.closePolls, test.muxer.closes]).toEqual([2, 0])
    test.drive()
    expect(handler.closePolls).toBe(2)
    const { wakes } = test
    handler.closeCx?.wake()
    expect(test.wakes).toBe(wakes + 1)
    test.drive()
    expect(eventsOf(test)).toEqual(['first', 'second'])
    expect([handler.closePolls, test.muxer.closes]).toEqual([4, 1])
    const last = test.wakes
    handler.closeCx?.wake()
    handler.closeCx?.wakeAt(0)
    expect(test.wakes).toBe(last)
    test.advance(100)
    expect(handler.closePolls).toBe(4)
  })

  it('a closing handler is polled when it wakes itself, and at the instant that it asked for (S4.7, S4.8)', () => {
    const { handler, test } = setup()
    handler.last = [PENDING, PENDING, 'end']
    handler.pollClose = cx => {
      handler.closePolls++
      if (handler.closePolls === 1) {
        cx.wakeAt(cx.now + 20)
      } else if (handler.closePolls === 2) {
        cx.wakeAt(cx.now)
      }
      return handler.last.shift()
    }
    close(test)
    expect(test.connection.pollTimeout()).toBe(20)
    test.clock.advance(20)
    test.drive()
    expect(handler.closePolls).toBe(2)
    expect(test.connection.pollTimeout()).toBe(5000)
    settle(test)
    expect(eventsOf(test)).toEqual(['end'])
  })

  it('once it began the handler is not asked what it lists, nor polled (S4.11)', () => {
    const list = new ProtocolList(['/a'])
    const { handler, test } = setup()
    handler.protocols = list
    handler.wake()
    test.drive()
    handler.last = [PENDING]
    close(test)
    const { listings, polls } = handler
    list.add('/b')
    handler.request(['/a'])
    test.drive()
    expect([handler.listings, handler.polls]).toEqual([listings, polls])
    expect(handler.eventsOf('local-protocols-change')).toHaveLength(1)
    expect(test.muxer.openings).toEqual([])
  })

  it('a handler without pollClose is drained through poll (S4.11)', () => {
    const handler = new RecordingHandler(['/a'])
    const test = new ScriptedConnection(handler)
    test.connection.close()
    handler.push({ type: 'report-remote-protocols', change: 'added', protocols: ['/x'] })
    handler.push({ type: 'cancel-outbound-request', token: 1 })
    handler.push({ type: 'notify-behaviour', event: 1 })
    handler.push({ type: 'notify-behaviour', event: 2 })
    test.drive()
    expect(eventsOf(test)).toEqual([1, 2])
    expect(test.connection.remoteProtocols.size).toBe(0)
    expect(test.muxer.closes).toBe(1)
  })

  it.each(['alone', 'in a composition', 'nested'])('a request made while closing ends with connection-closed, %s (S5.5, S10.6)', how => {
    const handler = new RecordingHandler()
    const inner = how === 'nested' ? composeHandlers({ handler }) : handler
    const test = new ScriptedConnection(how === 'alone' ? handler : composeHandlers({ other: new RecordingHandler(), inner }))
    test.connection.close()
    handler.request(['/a'], { info: 'late' })
    handler.onEvent = event => {
      if (event.type === 'dial-upgrade-error') {
        handler.push({ type: 'notify-behaviour', event: `lost ${String(event.info)}` })
      }
    }
    test.drive()
    expect(failuresOf(handler)).toEqual([['late', 'connection-closed']])
    expect(JSON.stringify(eventsOf(test))).toContain('lost late')
    expect(test.muxer.openings).toEqual([])
    test.connection.handleMuxerClosed()
    test.drive()
    expect(outputsOf(test, 'closed')).toHaveLength(1)
  })

  it('a handler that asks again after every refusal is cut at the limit (S9)', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler, { init: { maxCloseEvents: 10 } })
    handler.onEvent = event => {
      if (event.type === 'dial-upgrade-error') {
        handler.request(['/a'])
      }
    }
    test.connection.close()
    handler.request(['/a'])
    test.drive()
    expect(handler.eventsOf('dial-upgrade-error')).toHaveLength(10)
    expect(test.muxer.closes).toBe(1)
  })

  it('so many last events are delivered, and more are dropped with a report (S6.6, S9)', () => {
    const exact = setup({ maxCloseEvents: 2 })
    exact.handler.last = [1, 2]
    close(exact.test)
    expect(eventsOf(exact.test)).toEqual([1, 2])
    expect(reportsOf(exact.test, 'limit-reached')).toEqual([])
    const more = setup({ maxCloseEvents: 2 })
    more.handler.last = [1, 2, 3, 4]
    close(more.test)
    expect(eventsOf(more.test)).toEqual([1, 2])
    expect(reportsOf(more.test, 'limit-reached')).toMatchObject([{ option: 'maxCloseEvents', limit: 2 }])
    expect(more.test.muxer.closes).toBe(1)
  })

  it('a poll without an event is none of them (S9)', () => {
    const { handler, test } = setup({ maxCloseEvents: 1 })
    handler.last = [PENDING, 'only']
    close(test)
    handler.closeCx?.wake()
    test.drive()
    expect(eventsOf(test)).toEqual(['only'])
    expect(reportsOf(test, 'limit-reached')).toEqual([])
  })

  it('at its deadline the rest is cut and the muxer aborted (S6.6)', () => {
    const { handler, test } = setup({ closeTimeoutMs: 1000 })
    handler.last = ['first', PENDING, 'never']
    test.advance(50)
    close(test)
    expect(test.connection.pollTimeout()).toBe(1050)
    test.advance(999)
    expect(outputsOf(test, 'closed')).toEqual([])
    test.advance(1)
    expect(eventsOf(test)).toEqual(['first'])
    expect([test.muxer.closes, test.muxer.aborts.length]).toEqual([0, 1])
    expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'local-close' }])
  })

  it('a muxer that never closes is aborted at the deadline (S6.6, S10.14)', () => {
    const { test } = setup({ closeTimeoutMs: 1000 })
    close(test)
    expect(test.muxer.closes).toBe(1)
    test.advance(1000)
    expect(test.muxer.aborts).toMatchObject([{ name: 'ConnectionClosedError', message: 'The connection did not close in time' }])
    expect(test.outputs.at(-1)).toMatchObject({ type: 'closed', reason: 'local-close' })
  })

  it('with a time of 0 nothing is waited for', () => {
    const { handler, test } = setup({ closeTimeoutMs: 0 })
    handler.last = ['never']
    close(test)
    expect(eventsOf(test)).toEqual([])
    expect(outputsOf(test, 'closed')).toHaveLength(1)
  })

  it('with an endless time it waits (S1.4)', () => {
    const { test } = setup({ closeTimeoutMs: Infinity })
    close(test)
    test.advance(1e9)
    expect(outputsOf(test, 'closed')).toEqual([])
    expect(test.connection.pollTimeout()).toBe(Infinity)
  })
})

describe('Connection: abrupt ends', () => {
  const ends: Array<[string, string, (test: ScriptedConnection) => void]> = [
    ['aborted', 'aborted', test => { test.connection.abort(new Error('why')) }],
    ['muxer error', 'io-error', test => { test.connection.handleMuxerError(new Error('why')) }],
    ['muxer ended', 'remote-close', test => { test.connection.handleMuxerEnd() }],
    ['muxer closed', 'remote-close', test => { test.connection.handleMuxerClosed() }]
  ]

  it.each(ends)('%s: requests end, the handler is heard, the muxer is aborted, nothing is flushed (S6.4, S6.7)', (_name, reason, end) => {
    const { handler, test } = setup()
    handler.request(['/a'], { info: 'x' })
    handler.last = ['last']
    test.drive()
    test.connection.onBehaviourEvent('lost')
    end(test)
    test.drive()
    expect(failuresOf(handler)).toEqual([['x', 'connection-closed']])
    expect([test.muxer.closes, test.muxer.aborts.length]).toEqual([0, 1])
    expect(eventsOf(test)).toEqual(['last'])
    const [closed] = outputsOf(test, 'closed')
    expect(closed).toMatchObject({ reason, undelivered: ['lost'] })
    expect(closed?.cause).toBe(test.muxer.aborts[0])
    expect(test.outputs.at(-1)).toBe(closed)
  })

  it.each(ends)('%s while it closes: the first reason is kept, the close ends at once (S6.4)', (name, _reason, end) => {
    const { test } = setup()
    close(test)
    end(test)
    test.drive()
    expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'local-close' }])
    expect(test.muxer.closes).toBe(1)
    // A remote that ends at the same time answers the close (S6.8).
    expect(test.muxer.aborts).toHaveLength(name === 'aborted' || name === 'muxer error' ? 1 : 0)
  })

  it('a remote that ends is the cause, in words (S6.4)', () => {
    const { test } = setup()
    test.connection.handleMuxerEnd()
    test.drive()
    expect(outputsOf(test, 'closed')).toMatchObject([{ cause: { name: 'ConnectionClosedError', message: 'The remote ended the connection' } }])
  })

  it('a muxer that is gone while the handler has its last word is neither closed nor aborted', () => {
    const { handler, test } = setup()
    handler.last = [PENDING]
    close(test)
    test.connection.handleMuxerClosed()
    test.drive()
    expect(outputsOf(test, 'closed')).toEqual([])
    handler.closeCx?.wake()
    test.drive()
    expect([test.muxer.closes, test.muxer.aborts.length]).toEqual([0, 0])
    expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'local-close', cause: undefined }])
  })

  it('a remote that ends while the handler has its last word cannot be flushed to', () => {
    const { handler, test } = setup()
    handler.last = [PENDING]
    close(test)
    test.connection.handleMuxerEnd()
    test.drive()
    handler.closeCx?.wake()
    test.drive()
    expect([test.muxer.closes, test.muxer.aborts.length]).toEqual([0, 1])
    expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'local-close' }])
  })

  it('the first of several reasons is kept (S6.4)', () => {
    const { test } = setup()
    test.connection.handleMuxerError(new Error('first'))
    test.connection.abort(new Error('second'))
    test.connection.handleMuxerClosed()
    test.connection.close()
    test.drive()
    expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'io-error', cause: { message: 'first' } }])
    expect(test.muxer.aborts).toMatchObject([{ message: 'first' }])
  })

  it('a pending handler is cut at the deadline also when aborted (S6.7)', () => {
    const { handler, test } = setup({ closeTimeoutMs: 100 })
    handler.last = [PENDING]
    test.connection.abort(new Error('why'))
    test.drive()
    expect(outputsOf(test, 'closed')).toEqual([])
    test.advance(100)
    expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'aborted' }])
    expect(test.muxer.aborts).toMatchObject([{ message: 'why' }])
  })
})

describe('Connection: after the end', () => {
  function closed (): Setup & { readonly stream: ScriptedStream, readonly cx: PollContext } {
    const made = setup()
    const stream = inbound(made.test)
    close(made.test)
    made.test.connection.handleMuxerClosed()
    made.test.drive()
    return { ...made, stream, cx: made.handler.closeCx! }
  }

  it('everything is ignored, and nothing wakes (S6.4, S4.9)', () => {
    const { handler, test, stream, cx } = closed()
    const { wakes } = test
    const { length } = test.outputs
    const { connection } = test
    const told = handler.events.length
    cx.wake()
    cx.wakeAt(5)
    connection.close()
    connection.abort(new Error('late'))
    connection.cancelHostStream('h')
    connection.ignoreForKeepAlive(stream)
    connection.handleStreamData(stream, wire('HDR A'))
    connection.handleStreamEnd(stream)
    connection.handleStreamReset(stream)
    connection.handleStreamClosed(stream)
    connection.handleStreamClosing(stream, 0)
    connection.handleForeignStream(stream, 'outbound')
    connection.handleRemoteReport('replaced', ['/x'])
    connection.handleAddressChange('elsewhere')
    connection.handlePeerTag(true)
    connection.handleMuxerEnd()
    connection.handleMuxerError(new Error('late'))
    connection.handleMuxerClosed()
    connection.handleOutboundStreamFailure({ options: undefined, protocols: [] }, new Error('late'))
    test.advance(100_000)
    expect(test.wakes).toBe(wakes)
    expect(test.outputs).toHaveLength(length)
    expect(handler.events).toHaveLength(told)
    expect(connection.pollTimeout()).toBe(Infinity)
    expect([...connection.streams]).toEqual([])
  })

  it.each(['closing', 'closed'])('a stream that comes while %s is reset', phase => {
    const { test } = phase === 'closed' ? closed() : setup()
    close(test)
    const late = test.offer()
    expect(late.resets).toMatchObject([{ name: 'ConnectionClosedError', message: 'The connection closes' }])
    expect(late.isStarted).toBe(false)
    const granted = new ScriptedStream()
    test.connection.handleOutboundStream({ options: undefined, protocols: [] }, granted)
    test.drive()
    expect(granted.resets).toHaveLength(1)
  })

  it('lists of the host and of parts forget the connection, also when it was cut off (S3.16)', () => {
    const lists = [new CountingList(['/h']), new CountingList(['/a']), new CountingList(['/b']), new CountingList(['/c'])]
    const [host, ofPart, ofInner, shared] = lists as [CountingList, CountingList, CountingList, CountingList]
    const parts = [new RecordingHandler(ofPart), new RecordingHandler(ofInner), new RecordingHandler(shared), new RecordingHandler(shared)]
    const [part, inner, left, right] = parts as [RecordingHandler, RecordingHandler, RecordingHandler, RecordingHandler]
    const test = new ScriptedConnection(composeHandlers({ part, left, nested: composeHandlers({ inner, right }) }), {
      init: { closeTimeoutMs: 0 }, hostProtocols: { list: host, offers: () => false }
    })
    expect(lists.map(({ wakers }) => wakers.size)).toEqual([1, 1, 1, 2])
    close(test)
    expect(outputsOf(test, 'closed')).toHaveLength(1)
    expect(lists.map(({ wakers }) => wakers.size)).toEqual([0, 0, 0, 0])
  })
})

describe('Connection: re-entrant aborts', () => {
  it('an abort that calls back ends once, with the first error (C23, S2.32)', () => {
    const { handler, test } = setup()
    const stream = inbound(test)
    const errors: unknown[] = []
    const abort = test.muxer.abort.bind(test.muxer)
    test.muxer.abort = error => {
      abort(error)
      test.connection.abort(new Error('again'))
      test.connection.close()
      for (const input of [() => { test.connection.handleStreamReset(stream) }, () => { test.connection.handleMuxerClosed() }]) {
        try {
          input()
        } catch (thrown) {
          errors.push(thrown)
        }
      }
    }
    const first = new Error('first')
    test.connection.abort(first)
    test.drive()
    expect(test.muxer.aborts).toEqual([first])
    expect(errors).toMatchObject([{ name: 'InvalidStateError' }, { name: 'InvalidStateError' }])
    expect(outputsOf(test, 'closed')).toMatchObject([{ reason: 'aborted', cause: first }])
    expect(handler.closePolls).toBe(1)
  })

  it('a reset that calls back resets once', () => {
    const { handler, test } = setup()
    const stream = test.offer()
    const reset = stream.reset.bind(stream)
    stream.reset = error => {
      reset(error)
      test.connection.ignoreForKeepAlive(stream)
      test.connection.close()
    }
    test.feed(stream, wire('00'))
    expect(stream.resets).toHaveLength(1)
    expect(test.muxer.closes).toBe(1)
    expect(handler.eventsOf('fully-negotiated-inbound')).toEqual([])
  })
})
