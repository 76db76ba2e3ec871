/** S11 with the two implementations of `Metrics` that there are, on whole nodes. */

import { prometheusMetrics } from '@libp2p/prometheus-metrics'
import { simpleMetrics } from '@libp2p/simple-metrics'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import { protocolBehaviour } from 'libp2p-behaviours'
import { CHAT, chat } from '../support/chat.ts'
import { eventOf, until, within } from '../support/deadline.ts'
import { ANY_STACK, connect, stopNodes, swarmNode } from '../support/nodes.ts'
import { RecordingMetrics } from '../support/recording-metrics.ts'
import type { Metrics, PeerId } from '@libp2p/interface'
import type { NodeOptions as Options } from '../support/nodes.ts'

afterEach(stopNodes)

const TCP = 'tcp, noise, yamux'

/** Reads all there is. */
async function drained (stream: AsyncIterable<unknown>): Promise<void> {
  const reader = stream[Symbol.asyncIterator]()
  while ((await reader.next()).done !== true) {
    // Nobody wants it.
  }
}

interface Collected {
  readonly labels: Record<string, string>
  readonly value: number
  readonly metricName?: string
}

/** A node with a registry of its own, and a look at it. */
async function measuredNode () {
  const registry = new Registry()
  const metrics = prometheusMetrics({ registry, collectDefaultMetrics: false, preserveExistingMetrics: false })
  const lazyChat = protocolBehaviour({
    protocols: ['/lazy/1'],
    inbound: drained,
    commands: ({ open }) => ({
      say: async (peer: PeerId, bytes: number) => {
        const stream = await open(peer, { lazy: true })
        stream.send(new Uint8Array(bytes))
        await stream.close()
      }
    })
  })
  const node = await swarmNode(TCP, { behaviours: { chat: chat(), lazyChat } }, { metrics: (components) => metrics(components as never) })
  /** Each value by its label, or the one value. */
  const read = async (name: string): Promise<Record<string, number>> => {
    const metric = registry.getSingleMetric(name) as unknown as { get (): Promise<{ values: Collected[] }> }
    const { values } = await metric.get()
    const keyOf = ({ labels, metricName }: Collected) => [...Object.values(labels), ...metricName?.endsWith('_count') === true ? ['count'] : []].join(' ')
    return Object.fromEntries(values.map((collected) => [keyOf(collected), collected.value]))
  }
  return { node, registry, read: async (name: string) => await read(`libp2p_behaviours_${name}`), bytes: async () => await read('libp2p_data_transfer_bytes_total') }
}

describe('metrics with Prometheus (S11)', () => {
  it('count what happens, and come back to 0', async () => {
    const { node: alice, read, bytes, registry } = await measuredNode()
    const bob = await swarmNode(TCP, { behaviours: { chat: chat(), lazyChat: protocolBehaviour({ protocols: ['/lazy/1'], inbound: drained }) } })
    await connect(alice, bob)
    const { swarm } = alice.services
    await within('alice knows bob', swarm.protocols.whenSupports(bob.peerId, '/lazy/1'))
    expect(await read('connections')).toMatchObject({ closing: 0 })
    await swarm.behaviours.chat.say(bob.peerId, '12345')
    await swarm.behaviours.lazyChat.say(bob.peerId, 1000)
    await bob.services.swarm.behaviours.chat.say(alice.peerId, '1234567')
    await expect(swarm.behaviours.chat.say(bob.peerId, 'none', ['/nobody/1'])).rejects.toMatchObject({ kind: 'negotiation-failed' })
    await until('all streams have ended', async () => (await read('open_outbound_streams'))[CHAT] === 0 && (await read('open_outbound_streams'))['/lazy/1'] === 0)
    await until('those of the peer too', async () => (await read('open_inbound_streams'))[CHAT] === 0)

    expect(await read('outbound_streams_total')).toMatchObject({ [CHAT]: 1, '/lazy/1': 1 })
    expect(await read('inbound_streams_total')).toMatchObject({ [CHAT]: 1 })
    expect(await read('outbound_failures_total')).toEqual({ 'negotiation-failed': 1 })
    expect((await read('protocol_changes_total'))['remote']).toBeGreaterThan(0)
    expect(await read('negotiation_seconds')).toMatchObject({ 'dialer-lazy count': 1 })
    expect(await read('undelivered_events_total')).toEqual({ 'no-receiver': 1 })
    // The application's own bytes, each once: neither the negotiation nor what came behind it.
    expect(await bytes()).toMatchObject({ [`${CHAT} sent`]: 5, [`${CHAT} received`]: 7, '/lazy/1 sent': 1000 })
    expect(await bytes()).not.toHaveProperty('/lazy/1 received')

    const closed = eventOf(swarm, 'connection:close')
    await swarm.disconnect(bob.peerId)
    await within('the end', closed)
    expect(await read('connections')).toEqual({ busy: 0, idle: 0, closing: 0 })
    expect(await read('connections_closed_total')).toEqual({ 'local-close': 1 })
    expect(await read('negotiating_streams')).toEqual({ inbound: 0, outbound: 0 })
    expect(new Set(Object.values(await read('open_inbound_streams')))).toEqual(new Set([0]))
    const text = await registry.metrics()
    expect(text.match(/^# TYPE libp2p_behaviours_\w+/gm)).toHaveLength(21)
  })

  it('do not start the delivery of a stream that nobody reads yet, and miss nothing of it (S2.30)', async () => {
    const { node: alice, bytes } = await measuredNode()
    const bob = await swarmNode(TCP, { behaviours: { chat: chat() } })
    await connect(bob, alice)
    const events = alice.services.swarm.events()
    await bob.services.swarm.behaviours.chat.say(alice.peerId, 'sent together with the negotiation')
    expect((await within('the message', events.next())).value).toMatchObject({ event: { text: 'sent together with the negotiation' } })
    expect(await bytes()).toMatchObject({ [`${CHAT} received`]: 34 })
  })
})

describe('metrics with the simple implementation', () => {
  it('are collected', async () => {
    const collected: Array<Record<string, unknown>> = []
    const make = simpleMetrics({ intervalMs: 10, onMetrics: (output) => { collected.push(output) } })
    // It is made for streams with `source` and `sink`, which those of js-libp2p 3 do not have: without this no node connects.
    const metrics: Options['metrics'] = (components) => Object.assign(make(components as never) as unknown as Metrics, {
      trackMultiaddrConnection: () => {}, trackProtocolStream: () => {}
    })
    const alice = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } }, { metrics })
    const bob = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } })
    await connect(bob, alice)
    await bob.services.swarm.behaviours.chat.say(alice.peerId, 'one')
    await bob.services.swarm.behaviours.chat.say(alice.peerId, 'two')
    const last = (name: string) => collected.at(-1)?.[`libp2p_behaviours_${name}`]
    await until('it is counted', () => (last('inbound_streams_total') as Record<string, number> | undefined)?.[CHAT] === 2)
    expect(last('connections')).toMatchObject({ closing: 0 })
    expect(last('negotiation_seconds')).toMatchObject({ listener: { count: expect.any(Number) as number } })
    await alice.services.swarm.disconnect(bob.peerId)
    await until('it is 0 again', () => (last('open_inbound_streams') as Record<string, number>)[CHAT] === 0 && JSON.stringify(last('connections')) === '{"busy":0,"idle":0,"closing":0}')
  })
})

function refuseOurs (name: string): void {
  if (name.startsWith('libp2p_behaviours_')) {
    throw new Error('no room')
  }
}

describe('what the metrics of a node throw (S4.15)', () => {
  it('is reported once per second, and everything else goes on', async () => {
    const metrics = new RecordingMetrics()
    const alice = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } }, { metrics: () => metrics.component })
    const bob = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } })
    const errors: unknown[] = []
    alice.services.swarm.addEventListener('handler:error', ({ detail }) => { errors.push([detail.method, detail.cause]) })
    await connect(alice, bob)
    expect(metrics.calls).toBeGreaterThan(0)
    metrics.error = new Error('collector')
    const events = bob.services.swarm.events()
    for (const text of ['one', 'two']) {
      await alice.services.swarm.behaviours.chat.say(bob.peerId, text)
      expect((await within('the message', events.next())).value).toMatchObject({ event: { text } })
    }
    expect(errors).toEqual([['metrics', metrics.error]])
  })

  it('at the registration leaves the node without metrics', async () => {
    const component = new RecordingMetrics().component
    const broken: Metrics = { ...component, registerMetricGroup: refuseOurs } as Metrics
    const alice = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } }, { metrics: () => broken })
    const bob = await swarmNode(ANY_STACK, { behaviours: { chat: chat() } })
    await connect(alice, bob)
    const events = bob.services.swarm.events()
    await alice.services.swarm.behaviours.chat.say(bob.peerId, 'still here')
    expect((await within('the message', events.next())).value).toMatchObject({ event: { text: 'still here' } })
  })
})
