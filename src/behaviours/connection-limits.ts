/**
 * The `./connection-limits` entry: how many connections a node has, and lets begin.
 *
 * @packageDocumentation
 */

import { takesOptions } from '../behaviour/attach.ts'
import { ConnectionDenied } from '../behaviour/connection-denied.ts'
import { isPending } from '../behaviour/network-behaviour.ts'
import { checkNames, count, parseOptions } from '../core/options.ts'
import { ConnectionCounter } from './connection-counts.ts'
import { PeerSet } from './peer-set.ts'
import type { PeerId } from '@libp2p/interface'
import type { Denied } from '../behaviour/connection-denied.ts'
import type { FromSwarm } from '../behaviour/from-swarm.ts'
import type { EstablishedConnection, NetworkBehaviour, PendingConnection } from '../behaviour/network-behaviour.ts'
import type { OptionTable } from '../core/options.ts'
import type { ConnectionCounts } from './connection-counts.ts'

export type { ConnectionCounts } from './connection-counts.ts'

/** How many connections there may be at a time; `Infinity` for no limit. */
export interface ConnectionLimitValues {
  /** Inbound connections that have not passed the established gate yet. @default Infinity */
  maxPendingIncoming: number
  /** Dials of the swarm under way. @default Infinity */
  maxPendingOutgoing: number
  /** Inbound connections. @default Infinity */
  maxEstablishedIncoming: number
  /** Outbound connections. @default Infinity */
  maxEstablishedOutgoing: number
  /** Connections to one peer, in both directions. @default Infinity */
  maxEstablishedPerPeer: number
  /** Connections in both directions. @default Infinity */
  maxEstablished: number
}

/** Options of {@link connectionLimits}. */
export interface ConnectionLimitsInit extends ConnectionLimitChanges {
  /** Peers that are neither counted nor refused. @default none */
  bypass?: Iterable<PeerId> | undefined
}

/** Some of the limits. */
export type ConnectionLimitChanges = { [Name in keyof ConnectionLimitValues]?: ConnectionLimitValues[Name] | undefined }

/** Which limit a connection would have passed. */
export type ConnectionLimitKind =
  | 'pending-inbound' | 'pending-outbound' | 'established-inbound' | 'established-outbound' | 'per-peer' | 'total'

/** There are as many connections as there may be. Try again when one has closed, or raise the limit. */
export class LimitExceededError extends Error {
  override readonly name = 'LimitExceededError'
  readonly kind: ConnectionLimitKind
  readonly limit: number
  /** How many there were; more than `limit` when that was lowered. */
  readonly current: number

  constructor (kind: ConnectionLimitKind, limit: number, current: number) {
    const option = OPTION_OF[kind]
    super(`Cannot connect: ${SENTENCES[kind]} must be at most ${limit} (${option}), and there ${current === 1 ? 'is' : 'are'} ${current}`)
    this.kind = kind
    this.limit = limit
    this.current = current
  }
}

/**
 * A behaviour that limits connections. A lowered limit closes nothing: it keeps new connections out until there is room.
 */
export interface ConnectionLimitsBehaviour extends NetworkBehaviour<never, never, never, LimitExceededError> {
  /** The limits in force, frozen. */
  readonly limits: Readonly<ConnectionLimitValues>
  /** What is counted now, frozen; the connections of bypassing peers are not. */
  readonly counts: ConnectionCounts
  /** Peers that bypass the limits, in order of addition; the same frozen array until that changes. */
  readonly bypassing: readonly PeerId[]
  /** Connections of `peer` that are counted now, in both directions. */
  countOf (peer: PeerId): number
  /**
   * Changes some of the limits; one that is absent stays as it is.
   *
   * @throws TypeError or RangeError for a limit that is unknown or out of range; then none has changed
   */
  setLimits (limits: ConnectionLimitChanges): void
  /** From now on `peer` is neither counted nor refused, its present connections included; false if that was so before. */
  bypass (peer: PeerId): boolean
  /** From now on `peer` is counted, its present connections included, and refused as others are; false if that was so before. */
  endBypass (peer: PeerId): boolean
}

const OPTIONS: OptionTable<ConnectionLimitValues> = {
  maxPendingIncoming: count(Infinity),
  maxPendingOutgoing: count(Infinity),
  maxEstablishedIncoming: count(Infinity),
  maxEstablishedOutgoing: count(Infinity),
  maxEstablishedPerPeer: count(Infinity),
  maxEstablished: count(Infinity)
}

const OPTION_OF: Readonly<Record<ConnectionLimitKind, keyof ConnectionLimitValues>> = {
  'pending-inbound': 'maxPendingIncoming',
  'pending-outbound': 'maxPendingOutgoing',
  'established-inbound': 'maxEstablishedIncoming',
  'established-outbound': 'maxEstablishedOutgoing',
  'per-peer': 'maxEstablishedPerPeer',
  total: 'maxEstablished'
}

const SENTENCES: Readonly<Record<ConnectionLimitKind, string>> = {
  'pending-inbound': 'inbound connections that begin',
  'pending-outbound': 'dials under way',
  'established-inbound': 'inbound connections',
  'established-outbound': 'outbound connections',
  'per-peer': 'connections to one peer',
  total: 'connections'
}

/**
 * Refuses connections above limits, with a {@link LimitExceededError} as cause. Who an inbound connection is from is known
 * at the established gate only, so that all of them count towards `maxPendingIncoming`, those of bypassing peers included.
 * Dials of other code of the node are checked, and count once they are connections.
 *
 * @param init - limits, and who bypasses them
 * @throws TypeError or RangeError for an option that is unknown or out of range
 *
 * @example
 * connectionLimits({ maxEstablishedIncoming: 200, maxEstablishedPerPeer: 2, bypass: [relay] })
 */
export function connectionLimits (init: ConnectionLimitsInit = {}): ConnectionLimitsBehaviour {
  return new LimitingBehaviour(init)
}

takesOptions(connectionLimits, 'connectionLimits')

class LimitingBehaviour implements ConnectionLimitsBehaviour {
  #limits: Readonly<ConnectionLimitValues>
  readonly #bypassing: PeerSet
  readonly #counter: ConnectionCounter

  constructor (init: ConnectionLimitsInit) {
    const action = 'Cannot limit connections'
    this.#limits = parseOptions(OPTIONS, init, action, ['bypass'])
    const bypassing = new PeerSet(action, init.bypass)
    this.#bypassing = bypassing
    this.#counter = new ConnectionCounter((peer) => bypassing.has(peer))
  }

  get limits (): Readonly<ConnectionLimitValues> {
    return this.#limits
  }

  get counts (): ConnectionCounts {
    return this.#counter.counts
  }

  get bypassing (): readonly PeerId[] {
    return this.#bypassing.list
  }

  countOf (peer: PeerId): number {
    return this.#counter.of(peer)
  }

  setLimits (limits: ConnectionLimitChanges): void {
    const action = 'Cannot change limits'
    checkNames(limits, Object.keys(OPTIONS), action)
    const given = Object.entries(limits).filter(([, limit]) => limit !== undefined)
    this.#limits = parseOptions(OPTIONS, { ...this.#limits, ...Object.fromEntries(given) }, action)
  }

  bypass (peer: PeerId): boolean {
    return this.#counter.recount(() => this.#bypassing.add(peer, 'Cannot let bypass'))
  }

  endBypass (peer: PeerId): boolean {
    return this.#counter.recount(() => this.#bypassing.delete(peer, 'Cannot end a bypass'))
  }

  checkPending ({ direction, peer }: PendingConnection): Denied<LimitExceededError> {
    const { pendingIncoming, pendingOutgoing } = this.counts
    if (direction === 'inbound') {
      return this.#check('pending-inbound', pendingIncoming)
    }
    return peer !== undefined && this.#bypassing.has(peer) ? undefined : this.#check('pending-outbound', pendingOutgoing)
  }

  commitPending (attempt: PendingConnection): Denied<LimitExceededError> {
    const denied = this.checkPending(attempt)
    if (denied === undefined) {
      const { id, direction, peer } = attempt
      this.#counter.pending(id, direction, direction === 'inbound' ? undefined : peer)
    }
    return denied
  }

  checkEstablished ({ direction, peer }: EstablishedConnection): Denied<LimitExceededError> {
    if (this.#bypassing.has(peer)) {
      return undefined
    }
    const { establishedIncoming, establishedOutgoing, established } = this.counts
    const denied = direction === 'inbound'
      ? this.#check('established-inbound', establishedIncoming)
      : this.#check('established-outbound', establishedOutgoing)
    return denied ?? this.#check('per-peer', this.#counter.of(peer)) ?? this.#check('total', established)
  }

  commitEstablished (connection: EstablishedConnection): Denied<LimitExceededError> {
    const denied = this.checkEstablished(connection)
    if (denied === undefined) {
      this.#counter.established(connection.id, connection.direction, connection.peer)
    }
    return denied
  }

  rollback (attempt: PendingConnection | EstablishedConnection): void {
    if (isPending(attempt)) {
      this.#counter.ended(attempt.id)
    } else {
      this.#counter.establishedUndone(attempt.id)
    }
  }

  onSwarmEvent (event: FromSwarm): void {
    if (event.type === 'connection-closed') {
      this.#counter.ended(event.connection)
    }
  }

  #check (kind: ConnectionLimitKind, current: number): Denied<LimitExceededError> {
    const limit = this.#limits[OPTION_OF[kind]]
    return current < limit ? undefined : new ConnectionDenied(new LimitExceededError(kind, limit, current))
  }
}
