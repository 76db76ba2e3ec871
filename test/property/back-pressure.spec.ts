/**
 * S10.17: with a stalled consumer buffered events never exceed the bound; afterwards none is missing, or the iterator ended with
 * `OverflowError`. Whole swarms with their iterators, in virtual time: handlers and behaviours that talk, connections that
 * come and go, consumers that take, wait, or give up.
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { attachBehaviour } from '../../src/behaviour/attach.ts'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { Connection } from '../../src/connection/connection.ts'
import { SwarmDriver } from '../../src/libp2p/swarm-driver.ts'
import { SwarmEventStreams } from '../../src/libp2p/swarm-events.ts'
import { RecordingHandler } from '../../src/testing/recording-handler.ts'
import { ScriptedMuxer } from '../../src/testing/scripted-muxer.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'
import { RecordingBehaviour } from '../support/recording-behaviour.ts'
import { ALICE, BOB, NEVER_ABORTED, SOMEWHERE, componentsOf } from '../support/virtual-world.ts'
import type { PeerId } from '@libp2p/interface'
import type { AnyHandler } from '../../src/behaviour/connection-handler.ts'
import type { KeyedEvent } from '../../src/behaviour/inference.ts'
import type { EstablishedConnection } from '../../src/behaviour/network-behaviour.ts'
import type { NegotiatedStream } from '../../src/behaviour/negotiated-stream.ts'

type Machine = Connection<NegotiatedStream> & { readonly isDrained: boolean }
type Event = KeyedEvent<string, unknown>

const MAX_STALL_MS = 100

/** Passes on what its handlers say, as an event about their connection. */
class Forwarding extends RecordingBehaviour {
  override onHandlerEvent (peer: PeerId, connection: string, event: unknown): void {
    this.push({ type: 'event', peer, connection, event })
  }

  override commitEstablished (_: EstablishedConnection): AnyHandler {
    return new RecordingHandler()
  }
}

/** One node with its iterators; what was said and what became known of it is written down. */
class Node {
  readonly scheduler = new ManualScheduler()
  readonly parts = { a: new Forwarding(), b: new Forwarding() }
  readonly streams: SwarmEventStreams<Event>
  readonly ended: string[] = []
  readonly lateEvents: Event[] = []
  readonly errors: unknown[] = []
  /** What was said, by its source. */
  readonly said = new Map<string, number[]>()
  readonly handlers = new Map<string, RecordingHandler>()
  readonly connections = new Map<string, Machine>()
  readonly #driver: SwarmDriver<Machine>
  #made = 0

  constructor (eventBufferSize: number) {
    const root = composeBehaviours(this.parts)
    attachBehaviour(root, componentsOf(ALICE))
    for (const part of Object.values(this.parts)) {
      part.commitEstablished = ({ id }) => {
        const handler = new RecordingHandler()
        this.handlers.set(`${part === this.parts.a ? 'a' : 'b'} ${id}`, handler)
        return handler
      }
    }
    this.#driver = new SwarmDriver<Machine>({
      root,
      scheduler: this.scheduler,
      turnBudgetMs: 5,
      onEvent: (event) => {
        if (event.type === 'behaviour-event') {
          this.#check(event.event)
          this.streams.push(event.event)
        } else if (event.type === 'connection-closed') {
          this.ended.push(event.connection)
        }
      },
      onIdle: () => {},
      onError: (cause) => { this.errors.push(cause) }
    })
    this.streams = new SwarmEventStreams<Event>({
      eventBufferSize, maxStallMs: MAX_STALL_MS, scheduler: this.scheduler, keys: Object.keys(this.parts),
      stall: () => { this.#driver.swarm.stall() },
      resume: () => { this.#driver.swarm.resume() }
    })
  }

  connect (): void {
    const id = `c${this.#made++}`
    const established: EstablishedConnection = { id, peer: BOB, direction: 'inbound', address: SOMEWHERE, limits: undefined, signal: NEVER_ABORTED }
    this.#driver.turn(() => {
      this.#driver.swarm.establish(established, (handler, wake) => {
        const machine = new Connection<NegotiatedStream>(
          { id, peer: BOB, direction: 'inbound', handler, muxer: new ScriptedMuxer(), wake }, { idleTimeoutMs: Infinity }, this.scheduler.now())
        const connection = Object.defineProperty(machine, 'isDrained', { value: true }) as Machine
        this.connections.set(id, connection)
        return connection
      })
    })
  }

  say (source: string, event: number): void {
    const handler = this.handlers.get(source)
    handler?.push({ type: 'notify-behaviour', event })
    this.said.set(source, [...this.said.get(source) ?? [], event])
  }

  announce (key: 'a' | 'b', event: number): void {
    this.parts[key].emit(event)
    this.said.set(key, [...this.said.get(key) ?? [], event])
  }

  close (id: string): void {
    const connection = this.connections.get(id)
    this.connections.delete(id)
    for (const key of ['a', 'b']) {
      this.handlers.delete(`${key} ${id}`)
    }
    this.#driver.turn(() => { connection?.close() })
    this.#driver.turn(() => { connection?.handleMuxerClosed() })
  }

  /** Runs what the machines asked for, until they ask for nothing; that must come to an end, also in a stall. */
  settle (): void {
    for (let left = 1000; left > 0; left--) {
      if (this.scheduler.microtasks.length === 0 && this.scheduler.macrotasks.length === 0) {
        return
      }
      this.scheduler.run(this.scheduler.microtasks)
      this.scheduler.run(this.scheduler.macrotasks)
    }
    throw new RangeError('The node does not come to rest')
  }

  #check (event: Event): void {
    if (event.connection !== undefined && this.ended.includes(event.connection)) {
      this.lateEvents.push(event)
    }
  }
}

/** A consumer, and what it was given. */
class Consumer {
  readonly taken: Event[] = []
  readonly #iterator: AsyncIterableIterator<Event, undefined>
  outcome: 'open' | 'ended' | 'overflow' = 'open'
  /** Asked for, and not given yet. */
  #next: Promise<IteratorResult<Event, undefined>> | undefined

  constructor (iterator: AsyncIterableIterator<Event, undefined>) {
    this.#iterator = iterator
  }

  /** Takes one event, if there is one. */
  async take (): Promise<void> {
    try {
      this.#next ??= this.#iterator.next()
      const result = await Promise.race([this.#next, new Promise<undefined>((resolve) => { setImmediate(() => { resolve(undefined) }) })])
      if (result === undefined) {
        return
      }
      this.#next = undefined
      if (result.done === true) {
        this.outcome = this.outcome === 'overflow' ? 'overflow' : 'ended'
      } else {
        this.taken.push(result.value)
      }
    } catch (error) {
      this.#next = undefined
      this.outcome = (error as Error).name === 'OverflowError' ? 'overflow' : 'ended'
    }
  }

  /** What it was given, by source. */
  bySource (): Map<string, unknown[]> {
    const all = new Map<string, unknown[]>()
    for (const { behaviour, connection, event } of this.taken) {
      const source = connection === undefined ? behaviour : `${behaviour} ${connection}`
      all.set(source, [...all.get(source) ?? [], event])
    }
    return all
  }
}

const steps = fc.array(fc.oneof(
  { weight: 1, arbitrary: fc.constant({ type: 'connect' as const }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('close' as const), at: fc.nat(9) }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('say' as const), at: fc.nat(9), count: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('announce' as const), key: fc.constantFrom('a' as const, 'b' as const) }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('take' as const), who: fc.nat(1), count: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('wait' as const), durationMs: fc.integer({ min: 1, max: 40 }) }) }
), { maxLength: 60 })

describe('back-pressure (S8.3, S10.17)', () => {
  it('keeps the bound at every step, and loses nothing or says so', async () => {
    await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: 4 }), steps, async (capacity, script) => {
      const node = new Node(capacity)
      node.connect()
      const iterators = [node.streams.open({}), node.streams.open({})]
      const consumers = iterators.map((iterator) => new Consumer(iterator))
      let events = 0
      for (const step of script) {
        const sources = [...node.handlers.keys()]
        switch (step.type) {
          case 'connect':
            node.connect()
            break
          case 'close':
            node.close([...node.connections.keys()][step.at] ?? '')
            break
          case 'say':
            for (let left = step.count; left > 0; left--) {
              const source = sources[step.at % Math.max(1, sources.length)]
              if (source !== undefined) {
                node.say(source, events++)
              }
            }
            break
          case 'announce':
            node.announce(step.key, events++)
            break
          case 'take':
            for (let left = step.count; left > 0 && (iterators[step.who]?.length ?? 0) > 0; left--) {
              await consumers[step.who]?.take()
            }
            break
          case 'wait':
            node.scheduler.advance(step.durationMs)
        }
        node.settle()
        for (const iterator of iterators) {
          expect(iterator.length).toBeLessThanOrEqual(capacity)
        }
      }
      for (let quiet = 0; quiet < 3;) {
        const before = consumers.reduce((sum, { taken }) => sum + taken.length, 0)
        for (const consumer of consumers) {
          await consumer.take()
          node.settle()
        }
        quiet = consumers.reduce((sum, { taken }) => sum + taken.length, 0) === before ? quiet + 1 : 0
      }
      expect(node.errors).toEqual([])
      expect(node.lateEvents).toEqual([])
      for (const consumer of consumers) {
        const got = consumer.bySource()
        for (const [source, said] of node.said) {
          const heard = got.get(source) ?? []
          expect(consumer.outcome === 'overflow' ? said.slice(0, heard.length) : said).toEqual(heard)
        }
      }
    }), { numRuns: 200 })
  })
})
