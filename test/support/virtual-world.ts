/**
 * Nodes with behaviours in virtual time: real swarms, connections, negotiation and streams, over links that the test
 * controls. Promises and the host's microtasks run for real; the clock moves only in `advance`.
 */

import './polyfill.ts'
import { peerIdFromString } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import { attachBehaviour } from '../../src/behaviour/attach.ts'
import { commandsOf } from '../../src/behaviour/commands.ts'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { Connection } from '../../src/connection/connection.ts'
import { PENDING } from '../../src/core/poll.ts'
import { Backlog } from '../../src/libp2p/backlog.ts'
import { NextTurn } from '../../src/libp2p/next-turn.ts'
import { StreamAdapter } from '../../src/libp2p/stream-adapter.ts'
import { Swarm } from '../../src/swarm/swarm.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { fakeStreams } from './fake-stream.ts'
import type { ConnectionLimits, PeerId, StreamMessageEvent } from '@libp2p/interface'
import type { AnyHandler } from '../../src/behaviour/connection-handler.ts'
import type { BehaviourEvent, Commands, ComposedBehaviour } from '../../src/behaviour/inference.ts'
import type { NegotiatedStream } from '../../src/behaviour/negotiated-stream.ts'
import type { DialFailureKind } from '../../src/behaviour/from-swarm.ts'
import type { Behaviours } from '../../src/behaviour/network-behaviour.ts'
import type { SwarmComponents } from '../../src/behaviour/swarm-components.ts'
import type { Dial } from '../../src/behaviour/to-swarm.ts'
import type { ConnectionInit } from '../../src/connection/connection-config.ts'
import type { ConnectionOutput, ConnectionReport } from '../../src/connection/connection-output.ts'
import type { MuxerPort, StreamOpening } from '../../src/connection/muxer-port.ts'
import type { ConnectionStatus } from '../../src/connection/shutdown.ts'
import type { Direction } from '../../src/core/ids.ts'
import type { Instant } from '../../src/core/instant.ts'
import type { Poll } from '../../src/core/poll.ts'
import type { Waiting } from '../../src/libp2p/next-turn.ts'
import type { StreamSink } from '../../src/libp2p/stream-adapter.ts'
import type { PooledConnection } from '../../src/swarm/pooled-connection.ts'
import type { SwarmEvent } from '../../src/swarm/swarm-event.ts'
import type { FakeStream } from './fake-stream.ts'

/** Peers of tests. */
export const ALICE = peerIdFromString('12D3KooWAQjs5Ew5PHaE1KNcdRCJ9oA7F89YjVV15b5V9STgR6J3')
export const BOB = peerIdFromString('12D3KooWMLzmhwNzuFR3zH4tBKZ69Yt3wQ7iv62PNQkaysFjqxka')
export const CAROL = peerIdFromString('12D3KooWLqFgFJSRhBp4tXTp95pBrEq7Cy12jYXT1ssh2RxxWUdA')

/** Where every peer of the tests is. */
export const SOMEWHERE = multiaddr('/ip4/127.0.0.1/tcp/1')

/** The signal of a connection that nobody ends. */
export const NEVER_ABORTED: AbortSignal = new AbortController().signal

/** The components of a node that has nothing but an id. */
export function componentsOf (peerId: PeerId): SwarmComponents {
  return { peerId } as SwarmComponents
}

/** Turns of the event loop without news after which a world is at rest. */
const QUIET_TURNS = 4

/** More turns than this at one instant mean that something never comes to rest. */
const MAX_TURNS = 10_000

/** What all nodes of one test share: the time, and what is under way between them. */
export class VirtualWorld {
  readonly clock = new VirtualClock()
  readonly latencyMs: number
  readonly #nodes: Array<{ nextInstant (): Instant, wakeDue (): void }> = []
  readonly #deliveries: Array<{ readonly at: Instant, deliver (): void }> = []
  #isActive = false

  /**
   * @param latencyMs - what everything takes from one end to the other. Default 0
   */
  constructor (latencyMs: number = 0) {
    this.latencyMs = latencyMs
  }

  /** A node. */
  node<const Parts extends Behaviours> (peerId: PeerId, behaviours: Parts): VirtualNode<Parts> {
    const node = new VirtualNode(this, peerId, behaviours)
    this.#nodes.push(node)
    return node
  }

  /** Connects two nodes; the connections of both ends, with the id `id`. */
  connect (
    dialer: AnyNode, listener: AnyNode,
    { id = 'c1', limits, init = {} }: { id?: string, limits?: ConnectionLimits, init?: ConnectionInit } = {}
  ): [dialer: VirtualConnection, listener: VirtualConnection] {
    const outbound = dialer.establish(id, listener.peerId, 'outbound', limits, init)
    const inbound = listener.establish(id, dialer.peerId, 'inbound', limits, init)
    outbound.far = inbound
    inbound.far = outbound
    return [outbound, inbound]
  }

  post (deliver: () => void): void {
    this.#deliveries.push({ at: this.clock.now + this.latencyMs, deliver })
  }

  /** Something happened: the world is not at rest yet. */
  touch (): void {
    this.#isActive = true
  }

  /** Lets promises, microtasks and deliveries run until nothing moves at this instant. */
  async settle (): Promise<void> {
    for (let quiet = 0, turns = 0; quiet < QUIET_TURNS; quiet++, turns++) {
      if (turns > MAX_TURNS) {
        throw new RangeError(`The world did not come to rest in ${MAX_TURNS} turns`)
      }
      await new Promise((resolve) => { setImmediate(resolve) })
      if (this.#deliverDue() || this.#isActive) {
        quiet = 0
      }
      this.#isActive = false
    }
  }

  /** Lets `durationMs` pass, with all that happens in it. */
  async advance (durationMs: number): Promise<void> {
    const until = this.clock.now + durationMs
    await this.settle()
    for (let next = this.#nextInstant(); next <= until; next = this.#nextInstant()) {
      this.clock.advanceTo(Math.max(next, this.clock.now))
      this.#wakeDue()
      await this.settle()
    }
    this.clock.advanceTo(until)
    this.#wakeDue()
    await this.settle()
  }

  #nextInstant (): Instant {
    return Math.min(this.#deliveries[0]?.at ?? Infinity, ...this.#nodes.map(node => node.nextInstant()))
  }

  #wakeDue (): void {
    for (const node of this.#nodes) {
      node.wakeDue()
    }
  }

  #deliverDue (): boolean {
    const due = this.#deliveries.splice(0, this.#deliveries.filter(({ at }) => at <= this.clock.now).length)
    for (const { deliver } of due) {
      deliver()
    }
    return due.length > 0
  }
}

/** A node, whatever its behaviours. */
export interface AnyNode {
  readonly world: VirtualWorld
  readonly peerId: PeerId
  readonly isBusy: boolean
  whenIdle (task: () => void): void
  turn (input?: () => void): void
  establish (id: string, peer: PeerId, direction: Direction, limits: ConnectionLimits | undefined, init: ConnectionInit): VirtualConnection
}

/** A node: its swarm, and everything that came out of it. */
export class VirtualNode<Parts extends Behaviours> implements AnyNode {
  readonly world: VirtualWorld
  readonly peerId: PeerId
  readonly swarm: Swarm<BehaviourEvent<Parts>, VirtualConnection>
  /** The composition. */
  readonly root: ComposedBehaviour<Parts>
  /** Their commands. */
  readonly behaviours: { readonly [Key in keyof Parts]: Commands<Parts[Key]> }
  /** What `poll` gave so far, but for what only a driver needs. */
  readonly log: Array<SwarmEvent<BehaviourEvent<Parts>>> = []
  /** What behaviours want to dial goes here; by default no address is known. */
  onDial: (dial: Dial) => void = ({ target }) => { this.failDial(target as PeerId, 'no-addresses') }
  readonly #waiting: Array<() => void> = []
  #isBusy = false

  constructor (world: VirtualWorld, peerId: PeerId, behaviours: Parts) {
    this.world = world
    this.peerId = peerId
    const root = composeBehaviours(behaviours)
    this.root = root
    attachBehaviour(root, componentsOf(peerId))
    this.behaviours = commandsOf(root) as typeof this.behaviours
    this.swarm = new Swarm<BehaviourEvent<Parts>, VirtualConnection>(root, () => {
      if (!this.#isBusy) {
        queueMicrotask(() => { this.turn() })
      }
    })
    this.turn()
  }

  get isBusy (): boolean {
    return this.#isBusy
  }

  /** Events of behaviours so far, as the application gets them. */
  get events (): Array<BehaviourEvent<Parts>> {
    return this.log.flatMap(output => output.type === 'behaviour-event' ? [output.event] : [])
  }

  /** The log entries of one type. */
  logOf<Type extends SwarmEvent<unknown>['type']> (type: Type): Array<Extract<SwarmEvent<BehaviourEvent<Parts>>, { type: Type }>> {
    return this.log.filter((output): output is Extract<SwarmEvent<BehaviourEvent<Parts>>, { type: Type }> => output.type === type)
  }

  establish (id: string, peer: PeerId, direction: Direction, limits: ConnectionLimits | undefined, init: ConnectionInit): VirtualConnection {
    let made: VirtualConnection | undefined
    let denied: unknown
    this.turn(() => {
      try {
        made = this.swarm.establish({ id, peer, direction, address: SOMEWHERE, limits, signal: NEVER_ABORTED }, (handler, wake) =>
          new VirtualConnection(this, { id, peer, direction }, handler, wake, init))
      } catch (thrown) {
        denied = thrown
      }
    })
    if (made === undefined) {
      throw denied
    }
    return made
  }

  nextInstant (): Instant {
    return Math.min(this.swarm.pollTimeout(), ...Array.from(this.swarm.connections(), connection => connection.nextInstant()))
  }

  wakeDue (): void {
    for (const connection of this.swarm.connections()) {
      if (connection.nextInstant() <= this.world.clock.now) {
        connection.wake()
      }
    }
    this.turn()
  }

  /** Runs `task` as soon as no drain is running. */
  whenIdle (task: () => void): void {
    if (this.#isBusy) {
      this.#waiting.push(task)
    } else {
      task()
    }
  }

  /** Gives an input and drains, as soon as no drain is running. */
  turn (input: () => void = () => {}): void {
    this.whenIdle(() => { this.#turn(input) })
  }

  #turn (input: () => void): void {
    this.world.touch()
    this.#isBusy = true
    input()
    for (let output = this.swarm.poll(this.world.clock.now); output !== PENDING; output = this.swarm.poll(this.world.clock.now)) {
      this.#act(output)
    }
    if (this.swarm.wantsTurn) {
      setImmediate(() => { this.turn() })
    }
    this.#isBusy = false
    for (let task = this.#waiting.shift(); task !== undefined; task = this.#waiting.shift()) {
      task()
    }
  }

  /** A dial of a behaviour comes to nothing. */
  failDial (peer: PeerId, kind: DialFailureKind): void {
    this.turn(() => { this.swarm.gates.failed({ type: 'dial-failure', connection: 'dialed', peer, kind, errors: [], cause: undefined }) })
  }

  #act (output: SwarmEvent<BehaviourEvent<Parts>>): void {
    if (output.type === 'dial') {
      this.onDial(output)
    } else if (output.type === 'await-check') {
      void Promise.resolve(output.check).then((denied) => { this.turn(() => { output.settle(denied) }) })
    }
    if (output.type !== 'handler-task') {
      this.log.push(output)
      return
    }
    output.promise.then(undefined, (error: unknown) => {
      this.turn(() => { this.swarm.connection(output.connection)?.taskFailed(output, error) })
    })
  }
}

/** One end of a connection: the machine, its muxer and its streams. */
export class VirtualConnection implements PooledConnection, StreamSink {
  readonly id: string
  readonly wake: () => void
  readonly machine: Connection<NegotiatedStream>
  /** All streams of this end so far, oldest first. */
  readonly streams: NegotiatedStream[] = []
  /** The other end. */
  far: VirtualConnection | undefined
  readonly backlog = new Backlog(BACKLOG_LIMITS)
  readonly #node: AnyNode
  readonly #ports: FakeStream[] = []
  readonly #closing = new NextTurn<StreamAdapter>(port => { port.tellClosing() })
  #isGone = false

  constructor (
    node: AnyNode, { id, peer, direction }: { id: string, peer: PeerId, direction: Direction },
    handler: AnyHandler, wake: () => void, init: ConnectionInit
  ) {
    this.id = id
    this.wake = wake
    this.#node = node
    this.machine = new Connection({ id, peer, direction, handler, muxer: this.#muxer(), wake }, init, node.world.clock.now)
  }

  get status (): ConnectionStatus {
    return this.machine.status
  }

  onBehaviourEvent (event: unknown, token?: unknown): boolean {
    return this.machine.onBehaviourEvent(event, token)
  }

  poll (now: Instant): Poll<ConnectionOutput<NegotiatedStream, unknown>> {
    return this.machine.poll(now)
  }

  pollReport (): Poll<ConnectionReport> {
    return this.machine.pollReport()
  }

  nextInstant (): Instant {
    return this.machine.pollTimeout()
  }

  taskFailed (task: Extract<ConnectionOutput<NegotiatedStream, unknown>, { type: 'handler-task' }>, error: unknown): void {
    this.#input(() => { this.machine.handleTaskFailure(task, error) })
  }

  stall (): void {
    this.machine.stall()
  }

  resume (): void {
    this.machine.resume()
  }

  close (): void {
    this.machine.close()
  }

  abort (error: Error): void {
    this.machine.abort(error)
  }

  /** Both ends go down at once, without a word. */
  cut (error: Error = new Error('The cable was cut')): void {
    this.lose(error)
    this.far?.lose(error)
  }

  /** The peer's protocols, as identify would tell them. */
  identify (...protocols: string[]): void {
    this.#input(() => { this.machine.handleRemoteReport('replaced', protocols) })
  }

  /** Opens a stream past all behaviours, and negotiates it: what a peer of another make would do. */
  async openRaw (protocol: string): Promise<NegotiatedStream> {
    const { world } = this.#node
    const [local, remote] = fakeStreams(deliver => { world.post(deliver) })
    const port = new StreamAdapter(local, NOBODY)
    port.accept(protocol)
    this.far?.arrived(remote)
    const greeting = Uint8Array.from(['/multistream/1.0.0', protocol].flatMap(name => [name.length + 1, ...new TextEncoder().encode(name), 0x0a]))
    let answered = 0
    const onMessage = ({ data }: StreamMessageEvent): void => { answered += data.byteLength }
    local.addEventListener('message', onMessage)
    local.send(greeting)
    await world.advance(world.latencyMs * 2)
    local.removeEventListener('message', onMessage)
    if (answered !== greeting.byteLength) {
      throw new Error(`The peer answered ${answered} bytes instead of ${greeting.byteLength}`)
    }
    return port.stream
  }

  // -------------------------------------------------------------------------------------------------- its streams

  get isBusy (): boolean {
    return this.#node.isBusy
  }

  whenIdle (task: () => void): void {
    this.#node.whenIdle(task)
  }

  nextTurn (task: () => void): void {
    setImmediate(() => {
      this.#node.world.touch()
      task()
    })
  }

  streamData (port: StreamAdapter, bytes: Uint8Array): void {
    this.#input(() => { this.machine.handleStreamData(port, bytes) })
  }

  streamEnded (port: StreamAdapter): void {
    this.#input(() => { this.machine.handleStreamEnd(port) })
  }

  streamClosed (port: StreamAdapter): void {
    this.#input(() => { this.machine.handleStreamClosed(port) })
  }

  streamReset (port: StreamAdapter, error: Error): void {
    this.#input(() => { this.machine.handleStreamReset(port, error) })
  }

  tellClosingLater (waiting: Waiting<StreamAdapter>): void {
    this.#closing.add(waiting)
  }

  tellClosingNever (waiting: Waiting<StreamAdapter>): void {
    this.#closing.remove(waiting)
  }

  streamClosing (port: StreamAdapter): void {
    this.#input(() => { this.machine.handleStreamClosing(port, this.#node.world.clock.now) })
  }

  ignoreForKeepAlive (port: StreamAdapter): void {
    this.machine.ignoreForKeepAlive(port)
  }

  listenerThrew (port: StreamAdapter, type: string, cause: unknown): void {
    this.#input(() => { this.machine.handleListenerFault(port, `listener for ${type} of a stream`, cause) })
  }

  // ---------------------------------------------------------------------------------------------------- its muxer

  #muxer (): MuxerPort {
    return {
      openStream: opening => { this.#openStream(opening) },
      cancelOpening: () => {},
      close: () => { this.lose(undefined) },
      abort: error => { this.lose(error) }
    }
  }

  #openStream (opening: StreamOpening): void {
    const { world } = this.#node
    const [local, remote] = fakeStreams(deliver => { world.post(deliver) })
    const port = this.#adopt(local)
    this.#input(() => { this.machine.handleOutboundStream(opening, port) })
    world.post(() => { this.far?.arrived(remote) })
  }

  arrived (stream: FakeStream): void {
    const port = this.#adopt(stream)
    this.#input(() => { this.machine.handleInboundStream(port, this.#node.world.clock.now) })
  }

  #adopt (stream: FakeStream): StreamAdapter {
    this.#ports.push(stream)
    const port = new StreamAdapter(stream, this)
    this.streams.push(port.stream)
    return port
  }

  /** The muxer is gone, with all its streams; the other end learns of it later. */
  lose (error: Error | undefined): void {
    if (this.#isGone) {
      return
    }
    this.#isGone = true
    this.#node.world.post(() => { this.far?.lose(error) })
    this.#input(() => {
      for (const stream of this.#ports) {
        stream.onTransportClosed(error)
      }
      this.machine.handleMuxerClosed()
    })
  }

  #input (input: () => void): void {
    this.#node.turn(() => {
      input()
      this.wake()
    })
  }
}

/** The defaults of a node. */
const BACKLOG_LIMITS = { maxUnflushedBytesPerStream: 65_536, maxUnflushedBytes: 1_048_576 }

/** For streams that no connection of ours knows. */
export const NOBODY: StreamSink = {
  isBusy: false,
  backlog: new Backlog(BACKLOG_LIMITS),
  whenIdle: task => { task() },
  nextTurn: task => { task() },
  streamData: () => {},
  streamEnded: () => {},
  streamClosed: () => {},
  streamReset: () => {},
  tellClosingLater: () => {},
  tellClosingNever: () => {},
  streamClosing: () => {},
  ignoreForKeepAlive: () => {},
  listenerThrew: () => {}
}
