import '../support/polyfill.ts'
import { describe, expect, it } from 'vitest'
import { ConnectionTurns } from '../../src/libp2p/connection-turns.ts'
import { NextTurn } from '../../src/libp2p/next-turn.ts'
import { TurnBudget } from '../../src/libp2p/turn-budget.ts'
import { StreamInputs } from '../../src/libp2p/stream-inputs.ts'
import { fakeStreams } from '../support/fake-stream.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'
import type { Connection } from '../../src/connection/connection.ts'
import type { NegotiatedStream } from '../../src/behaviour/negotiated-stream.ts'
import type { StreamAdapter } from '../../src/libp2p/stream-adapter.ts'
import type { DrainedConnection, Turns } from '../../src/libp2p/swarm-driver.ts'

/** Inputs to a machine that writes them down, in turns that the test begins and ends. */
function inputs () {
  const log: string[] = []
  const waiting: Array<() => void> = []
  const state = { isBusy: false }
  const ports: StreamAdapter[] = []
  const record = (name: string) => (port: unknown, last?: unknown) => {
    expect(log.at(-1)).toBe('begin')
    log.push(name)
    const found = name === 'handleOutboundStream' ? last : port
    ports.push(found as StreamAdapter)
  }
  const machine = Object.fromEntries([
    'handleInboundStream', 'handleOutboundStream', 'handleStreamData', 'handleStreamEnd', 'handleStreamClosed', 'handleStreamReset', 'handleStreamClosing'
  ].map((name) => [name, record(name)]))
  const turns: Turns = {
    get isBusy () { return state.isBusy },
    whenIdle: (task) => {
      if (state.isBusy) {
        waiting.push(task)
      } else {
        task()
      }
    },
    turn: () => {},
    beginInput: () => { log.push('begin') },
    endInput: () => { log.push('end') }
  }
  const scheduler = new ManualScheduler()
  const connection = { status: { phase: 'open' } } as DrainedConnection
  const budget = new TurnBudget(scheduler, 5)
  const closing = new NextTurn<StreamAdapter>((port) => { port.tellClosing() }, scheduler)
  const streams = new StreamInputs(
    machine as unknown as Connection<NegotiatedStream>, new ConnectionTurns(turns, connection), { scheduler, budget, closing, config: LIMITS })
  const rest = () => {
    state.isBusy = false
    for (const task of waiting.splice(0)) {
      task()
    }
  }
  return { log, streams, state, rest, ports, scheduler }
}

const stream = () => fakeStreams((deliver) => { deliver() })[0]

const LIMITS = { maxUnflushedBytesPerStream: 65_536, maxUnflushedBytes: 1_048_576 }

describe('StreamInputs', () => {
  it('gives each input with a drain of its own', async () => {
    const { log, streams, ports, scheduler } = inputs()
    const [inbound, outbound] = [stream(), stream()]
    streams.arrived(inbound)
    streams.opened({ options: undefined, protocols: [] }, outbound, undefined)
    ports[0]?.start()
    inbound.remote.send(new Uint8Array([1]))
    await inbound.remote.close()
    ports[1]?.accept('/a')
    await outbound.close()
    scheduler.run(scheduler.macrotasks)
    await outbound.remote.close()
    inbound.remote.abort(new Error('gone'))
    expect(log).toEqual([
      'handleInboundStream', 'handleOutboundStream', 'handleStreamData', 'handleStreamEnd', 'handleStreamClosing', 'handleStreamClosed', 'handleStreamReset'
    ].flatMap((name) => ['begin', name, 'end']))
  })

  it('goes on with bytes that were left for later in a macrotask, without an input (S2.34)', () => {
    const { log, streams, ports, scheduler } = inputs()
    const inbound = stream()
    streams.arrived(inbound)
    const [port] = ports
    port?.start()
    port?.readLater(new Uint8Array([1]))
    expect(inbound.listenerCount('message')).toBe(0)
    scheduler.run(scheduler.macrotasks)
    expect(inbound.listenerCount('message')).toBe(1)
    expect(log).toEqual(['begin', 'handleInboundStream', 'end'])
  })

  it('keeps streams that come during a drain until it is over, and hears of their end meanwhile', () => {
    const { log, streams, state, rest, ports } = inputs()
    const [inbound, outbound] = [stream(), stream()]
    state.isBusy = true
    streams.arrived(inbound)
    streams.opened({ options: undefined, protocols: [] }, outbound, undefined)
    inbound.remote.abort(new Error('gone'))
    expect(log).toEqual([])
    rest()
    expect(log).toEqual(['handleInboundStream', 'handleOutboundStream', 'handleStreamReset'].flatMap((name) => ['begin', name, 'end']))
    expect(ports.map((port) => port.stream)).toEqual([inbound, outbound, inbound])
  })
})
