/**
 * The `./memory-limits` entry: no new connections while the process is short of memory.
 *
 * @packageDocumentation
 */

import { takesOptions } from '../behaviour/attach.ts'
import { ConnectionDenied } from '../behaviour/connection-denied.ts'
import { addDuration } from '../core/instant.ts'
import { duration, kindOf, parseOptions } from '../core/options.ts'
import { PENDING } from '../core/poll.ts'
import type { Denied } from '../behaviour/connection-denied.ts'
import type { EstablishedConnection, NetworkBehaviour, PendingConnection } from '../behaviour/network-behaviour.ts'
import type { Instant } from '../core/instant.ts'
import type { OptionTable } from '../core/options.ts'
import type { PollContext } from '../core/poll.ts'

/** The process uses as much memory as it may. Try again later, or raise the limit. */
export class MemoryLimitError extends Error {
  override readonly name = 'MemoryLimitError'
  readonly usedBytes: number
  readonly maxBytes: number

  constructor (usedBytes: number, maxBytes: number) {
    super(`Cannot connect: the process must use less than ${maxBytes} bytes of memory (maxBytes), and uses ${usedBytes}`)
    this.usedBytes = usedBytes
    this.maxBytes = maxBytes
  }
}

/** Reads how many bytes are used; called often, so it should be quick. */
export type MemoryUsage = () => number

/** Options of {@link memoryLimits}. */
export interface MemoryLimitsInit {
  /** Connections are refused while at least so many bytes are used. */
  maxBytes: number
  /** Reads how many bytes are used. No function can do that everywhere, so that there is no default. */
  usage: MemoryUsage
  /** Milliseconds for which a reading counts. @default 100 */
  sampleIntervalMs?: number | undefined
}

/** A behaviour that refuses connections while too much memory is used. */
export interface MemoryLimits extends NetworkBehaviour<never, never, never, MemoryLimitError> {
  /** The limit in force, in bytes. */
  readonly maxBytes: number
  /** The last reading, in bytes; undefined before the first connection. */
  readonly usedBytes: number | undefined
  /**
   * Changes the limit; connections that are there stay.
   *
   * @throws TypeError or RangeError for what is no number of bytes of at least 1
   */
  setMaxBytes (maxBytes: number): void
}

interface MemoryOptions {
  readonly sampleIntervalMs: number
}

/** Two readings in the time in which a handshake ends tell nothing new. */
const OPTIONS: OptionTable<MemoryOptions> = { sampleIntervalMs: duration(100) }

/**
 * Refuses connections, in both directions and at both gates, while the process uses `maxBytes` or more, with a
 * {@link MemoryLimitError} as cause. Connections that are there stay. A share of the memory is a product: only the caller
 * knows whether the machine, a container or a heap limit is the whole. `usage` is called when a connection is checked, at
 * most once in `sampleIntervalMs`; if it throws, or gives no number, connections are refused as long as that reading counts.
 *
 * @param init - the limit, and how to read what is used
 * @throws TypeError or RangeError for an option that is missing, unknown or out of range
 *
 * @example
 * memoryLimits({ maxBytes: 0.8 * totalmem(), usage: () => process.memoryUsage.rss() })
 */
export function memoryLimits (init: MemoryLimitsInit): MemoryLimits {
  return new MemoryLimitsBehaviour(init)
}

takesOptions(memoryLimits, 'memoryLimits')

/**
 * A reading is taken by a gate, which is not told the time. So the gate wakes the behaviour, and the poll, which is told,
 * has the reading expire: when nobody connects there is neither a reading nor a timer.
 */
type Reading = ({ readonly type: 'bytes', readonly bytes: number } | { readonly type: 'failure', readonly cause: unknown }) & {
  /** Set by the first poll after it was taken. */
  expiresAt?: Instant
}

class MemoryLimitsBehaviour implements MemoryLimits {
  readonly #usage: MemoryUsage
  readonly #sampleIntervalMs: number
  #maxBytes: number
  #usedBytes: number | undefined
  /** Undefined: the next gate takes one. */
  #reading: Reading | undefined
  #cx: PollContext | undefined

  constructor (init: MemoryLimitsInit) {
    const action = 'Cannot limit memory'
    this.#sampleIntervalMs = parseOptions(OPTIONS, init, action, ['maxBytes', 'usage']).sampleIntervalMs
    this.#maxBytes = parseBytes(init.maxBytes, action)
    checkReader(init.usage, action)
    this.#usage = init.usage
  }

  get maxBytes (): number {
    return this.#maxBytes
  }

  get usedBytes (): number | undefined {
    return this.#usedBytes
  }

  setMaxBytes (maxBytes: number): void {
    this.#maxBytes = parseBytes(maxBytes, 'Cannot change the limit')
  }

  checkPending (_attempt: PendingConnection): Denied<MemoryLimitError> {
    return this.#check()
  }

  commitPending (_attempt: PendingConnection): Denied<MemoryLimitError> {
    return this.#check()
  }

  checkEstablished (_connection: EstablishedConnection): Denied<MemoryLimitError> {
    return this.#check()
  }

  commitEstablished (_connection: EstablishedConnection): Denied<MemoryLimitError> {
    return this.#check()
  }

  poll (cx: PollContext): typeof PENDING {
    this.#cx = cx
    const reading = this.#reading
    if (reading !== undefined) {
      reading.expiresAt ??= addDuration(cx.now, this.#sampleIntervalMs)
      if (reading.expiresAt <= cx.now) {
        this.#reading = undefined
      } else {
        cx.wakeAt(reading.expiresAt)
      }
    }
    return PENDING
  }

  #check (): Denied<MemoryLimitError> {
    const reading = this.#reading ?? this.#read()
    if (reading.type === 'failure') {
      throw reading.cause
    }
    return reading.bytes < this.#maxBytes ? undefined : new ConnectionDenied(new MemoryLimitError(reading.bytes, this.#maxBytes))
  }

  #read (): Reading {
    const reading = readUsage(this.#usage)
    this.#reading = reading
    if (reading.type === 'bytes') {
      this.#usedBytes = reading.bytes
    }
    this.#cx?.wake()
    return reading
  }
}

function readUsage (usage: MemoryUsage): Reading {
  try {
    const bytes: unknown = usage()
    if (typeof bytes !== 'number' || Number.isNaN(bytes)) {
      throw new TypeError(`Cannot read the memory that is used: usage must return a number, received ${typeof bytes === 'number' ? 'NaN' : kindOf(bytes)}`)
    }
    return { type: 'bytes', bytes }
  } catch (cause) {
    return { type: 'failure', cause }
  }
}

function checkReader (usage: unknown, action: string): void {
  if (typeof usage !== 'function') {
    throw new TypeError(`${action}: usage must be a function that returns bytes, such as () => process.memoryUsage.rss(), received ${kindOf(usage)}`)
  }
}

function parseBytes (maxBytes: unknown, action: string): number {
  if (typeof maxBytes !== 'number') {
    throw new TypeError(`${action}: maxBytes must be a number of bytes, received ${kindOf(maxBytes)}`)
  }
  if (!(maxBytes >= 1)) {
    throw new RangeError(`${action}: maxBytes must be at least 1, received ${maxBytes}`)
  }
  return maxBytes
}
