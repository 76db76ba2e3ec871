import { describe, expect, it } from 'vitest'
import { RecordingHandler, connectionPair } from '../../src/testing/index.ts'
import { hex, toHex, wire } from '../support/wire.ts'
import type { ConnectionPairInit, VirtualStream } from '../../src/testing/index.ts'

const ECHO = ['/echo/1.0.0']
const HELLO = new TextEncoder().encode('hello')

/** Sends back whatever arrives, and ends when the other end does. */
class EchoHandler extends RecordingHandler {
  constructor () {
    super(ECHO)
    this.onEvent = event => {
      if (event.type === 'fully-negotiated-inbound') {
        const stream = event.stream as VirtualStream
        const answer = (): void => {
          if (stream.received.length > 0) {
            stream.send(stream.read())
          }
          if (stream.isEnded) {
            stream.end()
          }
        }
        stream.onChange = answer
        answer()
      }
    }
  }
}

function echoPair (init: Partial<ConnectionPairInit> = {}) {
  const dialer = new RecordingHandler()
  const listener = new EchoHandler()
  const pair = connectionPair({ dialer, listener, init: { idleTimeoutMs: Infinity }, ...init })
  return { pair, dialer, listener }
}

function outboundStream (handler: RecordingHandler): VirtualStream {
  const [event] = handler.eventsOf('fully-negotiated-outbound')
  if (event === undefined) {
    throw new Error('no stream was negotiated')
  }
  return event.stream as VirtualStream
}

describe('connectionPair', () => {
  it.each([[[Infinity]], [[1]], [[3, 1, 7]]])('negotiates and echoes with chunks of %j bytes (S10.1)', chunkSizes => {
    const { pair, dialer, listener } = echoPair({ chunkSizes })
    dialer.request(ECHO)
    pair.drive()
    const stream = outboundStream(dialer)
    stream.send(HELLO)
    pair.drive()
    expect(stream.read()).toEqual(HELLO)
    stream.end()
    pair.drive()
    expect(stream.isEnded).toBe(true)
    expect(listener.eventsOf('fully-negotiated-inbound')).toHaveLength(1)
    expect([...pair.dialer.connection.streams]).toEqual([])
  })

  it('takes one latency for each way: two round trips for V1 open and request (S2.19)', () => {
    const { pair, dialer } = echoPair({ latencyMs: 25 })
    dialer.request(ECHO)
    pair.drive(49)
    expect(dialer.eventsOf('fully-negotiated-outbound')).toHaveLength(0)
    pair.drive(1)
    const stream = outboundStream(dialer)
    stream.send(HELLO)
    pair.drive(49)
    expect(stream.received).toHaveLength(0)
    pair.drive(1)
    expect(stream.read()).toEqual(HELLO)
  })

  describe('with a lazy request', () => {
    function lazyPair (init: Partial<ConnectionPairInit> = {}) {
      const all = echoPair({ latencyMs: 25, ...init })
      all.pair.dialer.connection.handleRemoteReport('replaced', ECHO)
      all.dialer.request(ECHO, { lazy: true })
      return all
    }

    it.each([[[Infinity]], [[1]], [[3, 1, 7]]])('opens, asks and is answered in one round trip, with chunks of %j bytes (S2.23, S10.1)', chunkSizes => {
      const { pair, dialer, listener } = lazyPair({ chunkSizes })
      pair.drive()
      const stream = outboundStream(dialer)
      stream.send(HELLO)
      stream.end()
      pair.drive(49)
      expect([stream.received.length, listener.eventsOf('fully-negotiated-inbound').length]).toEqual([0, 1])
      pair.drive(1)
      expect([stream.read(), stream.isEnded]).toEqual([HELLO, true])
    })

    it.each([
      { name: 'first bytes', use: (stream: VirtualStream) => { stream.send(HELLO); stream.send(HELLO) }, flight: [hex(`HDR E ${toHex(HELLO)}`)] },
      { name: 'end', use: (stream: VirtualStream) => { stream.end() }, flight: [hex('HDR E')] },
      { name: 'turn, if there is neither', use: () => {}, flight: [hex('HDR E')] },
      { name: 'reset, never', use: (stream: VirtualStream) => { stream.reset(new Error('no')) }, flight: [] }
    ])('sends the opening with the $name (S2.27, S2.28)', ({ use, flight }) => {
      const { pair, dialer } = lazyPair()
      dialer.onEvent = event => {
        if (event.type === 'fully-negotiated-outbound') {
          use(event.stream as VirtualStream)
        }
      }
      const negotiation: string[] = []
      const { connection } = pair.listener
      const handleStreamData = connection.handleStreamData.bind(connection)
      connection.handleStreamData = (port, bytes) => {
        negotiation.push(toHex(bytes))
        handleStreamData(port, bytes)
      }
      pair.drive(25)
      expect(negotiation).toEqual(flight)
    })

    it('fails for good when the peer refuses, and gives nothing of what the peer takes for a proposal (S2.26, N19)', () => {
      const { pair, dialer, listener } = lazyPair()
      listener.protocols = ['/b']
      listener.wake()
      pair.drive()
      const stream = outboundStream(dialer)
      stream.send(wire('B data'))
      pair.drive(50)
      expect(stream.resetBy).toMatchObject({ name: 'NegotiationError' })
      expect([stream.received.length, stream.isEnded]).toEqual([0, false])
      expect(() => { stream.send(HELLO) }).toThrow(stream.resetBy)
      stream.end()
      pair.drive(25)
      expect(listener.eventsOf('fully-negotiated-inbound')).toMatchObject([{ protocol: '/b', stream: { resetBy: stream.resetBy } }])
    })

    it('is lost with its connection', () => {
      const { pair, dialer } = lazyPair()
      pair.drive()
      pair.listener.connection.abort(new Error('gone'))
      pair.drive(100)
      expect(outboundStream(dialer).resetBy?.message).toBe('gone')
      expect([...pair.dialer.connection.streams]).toEqual([])
    })
  })

  it('closes both ends when one closes, each with one closed output as its last (S6.8)', () => {
    const { pair } = echoPair({ latencyMs: 5 })
    pair.dialer.connection.close()
    pair.drive(10)
    expect(pair.dialer.outputs.at(-1)).toMatchObject({ type: 'closed', reason: 'local-close' })
    expect(pair.listener.outputs.at(-1)).toMatchObject({ type: 'closed', reason: 'remote-close' })
    expect([...pair.dialer.outputs, ...pair.listener.outputs].filter(({ type }) => type === 'closed')).toHaveLength(2)
  })

  it('resets the streams of the other end when one end is aborted (S6.7)', () => {
    const { pair, dialer } = echoPair()
    dialer.request(ECHO)
    pair.drive()
    const stream = outboundStream(dialer)
    pair.listener.connection.abort(new Error('enough'))
    pair.drive()
    expect(stream.resetBy?.message).toBe('enough')
    expect(() => { stream.send(HELLO) }).toThrow('enough')
    expect(pair.listener.outputs.at(-1)).toMatchObject({ type: 'closed', reason: 'aborted' })
    expect(pair.dialer.outputs.at(-1)).toMatchObject({ type: 'closed', reason: 'remote-close' })
  })

  it('refuses a protocol that the other end does not list, and the connection goes on (C15)', () => {
    const { pair, dialer } = echoPair()
    dialer.request(['/nope'], { info: 'first' })
    dialer.request(ECHO)
    pair.drive()
    expect(dialer.eventsOf('dial-upgrade-error')).toMatchObject([{ info: 'first', error: { kind: 'negotiation-failed', tried: ['/nope'] } }])
    expect(dialer.eventsOf('fully-negotiated-outbound')).toHaveLength(1)
  })

  it('closes an idle connection when its time has come, and not before (S6.4)', () => {
    const { pair } = echoPair({ init: { idleTimeoutMs: 100 } })
    pair.drive(99)
    expect(pair.dialer.connection.status).toMatchObject({ phase: 'open', activity: 'idle' })
    pair.drive(1)
    expect(pair.dialer.outputs.at(-1)).toMatchObject({ type: 'closed', reason: 'keep-alive-timeout' })
  })

  it('says so when the two ends never come to rest', () => {
    const { pair, dialer } = echoPair()
    dialer.request(ECHO)
    pair.drive()
    const stream = outboundStream(dialer)
    stream.onChange = () => { stream.send(stream.read()) }
    stream.send(HELLO)
    expect(() => { pair.drive() }).toThrow(RangeError)
  })
})
