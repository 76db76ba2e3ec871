import { CONNECTION_OPTIONS } from '../connection/connection-config.ts'
import { checkNames, count, duration, flag, kindOf, parseOptions } from '../core/options.ts'
import { show } from '../core/printable.ts'
import type { Behaviours } from '../behaviour/network-behaviour.ts'
import type { ConnectionConfig, ConnectionInit } from '../connection/connection-config.ts'
import type { OptionTable } from '../core/options.ts'

const ACTION = 'Cannot make a swarm'

/** Plugging in must not change how long the connections of a node live (S6.5). */
const PLUGGED_IN_OPTIONS: OptionTable<ConnectionConfig> = { ...CONNECTION_OPTIONS, idleTimeoutMs: duration(Infinity) }

interface NodeConfig {
  readonly maxUnflushedBytesPerStream: number
  readonly maxUnflushedBytes: number
  readonly turnBudgetMs: number
  readonly eventBufferSize: number
  readonly maxStallMs: number
  readonly gateTimeoutMs: number
  readonly keepProcessAlive: boolean
  readonly correctHostIterators: boolean
}

const NODE_OPTIONS: OptionTable<NodeConfig> = {
  maxUnflushedBytesPerStream: count(65_536, 1, 1_000_000_000),
  maxUnflushedBytes: count(1_048_576, 1, 1_000_000_000),
  turnBudgetMs: duration(5),
  eventBufferSize: count(256, 1, 1_000_000),
  maxStallMs: duration(10_000),
  gateTimeoutMs: duration(5000),
  keepProcessAlive: flag(false),
  correctHostIterators: flag(true)
}

const ADVERTISE = ['union', 'declared'] as const
/** Every option that there is, for messages: each table knows its own only. */
const NAMES: readonly string[] = ['behaviours', ...Object.keys(PLUGGED_IN_OPTIONS), ...Object.keys(NODE_OPTIONS), 'advertise', 'onDuplicate']
const ON_DUPLICATE = ['first-wins', 'error'] as const

/** Options of a swarm: those of its connections, where `idleTimeoutMs` defaults to `Infinity`, and those of the node. */
export interface SwarmLimits extends ConnectionInit {
  /**
   * Bytes that a stream holds because its peer does not take them, as far as negotiation and `stream.write()` wrote them. At
   * the limit `write()` waits, and a negotiation is not read. @default 65_536
   */
  maxUnflushedBytesPerStream?: number | undefined
  /** The same for all streams of a connection together. At the limit `write()` waits on all of them. @default 1_048_576 */
  maxUnflushedBytes?: number | undefined
  /** Milliseconds that one drain may take. At the limit timers and sockets get their turn, then the rest follows. @default 5 */
  turnBudgetMs?: number | undefined
  /**
   * Events that an iterator of `swarm.events()` buffers, at least 1. At the limit behaviours and handlers are not polled until
   * one is taken; with `overflow: 'end'` the next one ends the iterator with `OverflowError`. @default 256
   */
  eventBufferSize?: number | undefined
  /** Milliseconds that an iterator may stay full. At the limit it ends with `OverflowError`; `Infinity` for no limit. @default 10_000 */
  maxStallMs?: number | undefined
  /** Milliseconds that an asynchronous check of a gate may take. At the limit it denies the connection. @default 5000 */
  gateTimeoutMs?: number | undefined
  /** Whether timers of the swarm keep a Node process alive. @default false */
  keepProcessAlive?: boolean | undefined
  /** Whether `for await` over streams of the node's other services ends as it does over those of behaviours (S2.31). @default true */
  correctHostIterators?: boolean | undefined
  /**
   * What the node announces besides its other services: `'union'`, what behaviours declare and what handlers offer on any
   * connection; `'declared'`, the former only. @default 'union'
   */
  advertise?: 'union' | 'declared' | undefined
  /** What happens when behaviours declare the same name: the first one owns it, or `DuplicateProtocolError`. @default 'first-wins' */
  onDuplicate?: 'first-wins' | 'error' | undefined
}

/** What a swarm is made of. */
export interface SwarmInit<Parts extends Behaviours> extends SwarmLimits {
  /** The behaviours, by the key under which their events and commands are found. */
  behaviours: Parts
}

/** The parsed options: complete, checked, frozen. */
export interface SwarmConfig extends NodeConfig {
  readonly connection: ConnectionConfig
  readonly advertise: 'union' | 'declared'
  readonly onDuplicate: 'first-wins' | 'error'
}

/**
 * Checks the options once and fills in the defaults.
 *
 * @throws TypeError or RangeError that names the option, the rule and the value (S9.2)
 */
export function parseSwarmConfig (init: SwarmInit<Behaviours>): SwarmConfig {
  checkNames(init, NAMES, ACTION)
  const { behaviours, advertise, onDuplicate, ...limits } = init
  const [node, connection] = split(limits)
  checkBehaviours(behaviours)
  return Object.freeze({
    ...parseOptions(NODE_OPTIONS, node, ACTION),
    connection: parseOptions(PLUGGED_IN_OPTIONS, connection, ACTION),
    advertise: parseChoice('advertise', advertise, ADVERTISE),
    onDuplicate: parseChoice('onDuplicate', onDuplicate, ON_DUPLICATE)
  })
}

/** The options of the node, and those of its connections. */
function split (limits: object): [node: object, connection: object] {
  const [node, connection] = [true, false].map((isOfNode) => Object.entries(limits).filter(([name]) => name in NODE_OPTIONS === isOfNode))
  return [Object.fromEntries(node ?? []), Object.fromEntries(connection ?? [])]
}

/** Each behaviour is checked when its node takes it. */
function checkBehaviours (behaviours: unknown): void {
  if (typeof behaviours !== 'object' || behaviours === null || Symbol.iterator in behaviours) {
    throw new TypeError(`${ACTION}: behaviours must be an object of behaviours by key, received ${kindOf(behaviours)}`)
  }
  if ('commitEstablished' in behaviours && typeof behaviours.commitEstablished === 'function') {
    throw new TypeError(`${ACTION}: behaviours must be an object of behaviours by key, received a behaviour; write { behaviours: { key: behaviour } }`)
  }
}

/** One of a few words; the first is the default. */
function parseChoice<Choice extends string> (name: string, given: unknown, choices: readonly [Choice, ...Choice[]]): Choice {
  const found = given === undefined ? choices[0] : choices.find((choice) => choice === given)
  if (found === undefined) {
    throw new TypeError(`${ACTION}: ${name} must be ${choices.map((choice) => `"${choice}"`).join(' or ')}, received "${show(String(given))}"`)
  }
  return found
}
