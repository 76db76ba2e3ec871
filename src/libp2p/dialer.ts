/**
 * The dials of the swarm (S7.10): those of the application and of behaviours. Each has one outcome, a connection or one
 * `dial-failure`; who asks for a peer that is being dialed shares the outcome of that dial, as the host makes one of them.
 */

import { checkCallOptions } from '../behaviours/call-options.ts'
import { DialFailureError } from '../behaviour/dial-failure-error.ts'
import { andAllComplete } from '../concurrency/when-all.ts'
import { kindOf } from '../core/options.ts'
import { toError } from '../core/to-error.ts'
import { InvalidStateError } from '../errors.ts'
import { show } from '../core/printable.ts'
import { distinct, parseTarget, withPeer } from './addresses.ts'
import { nextConnectionId } from './connection-ids.ts'
import { addressFailuresOf, dialFailureKindOf } from './dial-failures.ts'
import { OwnDial } from './own-dial.ts'
import { passGate } from './verdict.ts'
import { Wait } from './wait.ts'
import type { Connection as HostConnection, PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { OpenConnectionOptions } from '@libp2p/interface-internal'
import type { DialFailure, DialFailureKind } from '../behaviour/from-swarm.ts'
import type { PendingConnection } from '../behaviour/network-behaviour.ts'
import type { SwarmComponents } from '../behaviour/swarm-components.ts'
import type { Dial, DialCondition, DialTarget } from '../behaviour/to-swarm.ts'
import type { CallOptions } from '../behaviours/call-options.ts'
import type { ConnectionDriver } from './connection-driver.ts'
import type { SwarmDriver } from './swarm-driver.ts'
import type { VerdictTerms } from './verdict.ts'

/** Milliseconds that a dial may take, unless the caller says otherwise: the host's own default. */
const DIAL_TIMEOUT_MS = 10_000

/** Collaborators of a {@link Dialer}. */
export interface DialerComponents {
  readonly node: Pick<SwarmComponents, 'peerId' | 'peerStore' | 'connectionManager'>
  readonly driver: SwarmDriver<ConnectionDriver>
  readonly terms: VerdictTerms
  /** Whether there is an open connection to `peer`. */
  isConnected (peer: PeerId): boolean
  /** The swarm's side of a connection that the host has opened; rejects with the denial of a behaviour. */
  driven (host: HostConnection): Promise<ConnectionDriver>
}

/** Options of a dial. */
export interface DialOptions extends CallOptions {
  /** What must hold. @default 'disconnected-and-not-dialing' */
  condition?: DialCondition | undefined
}

/** See above. */
export class Dialer {
  readonly #components: DialerComponents
  readonly #dials = new Map<OwnDial, Promise<ConnectionDriver>>()
  #hasStopped = false

  constructor (components: DialerComponents) {
    this.#components = components
  }

  /** A behaviour wants to dial; it hears of the outcome as all others do. */
  order ({ target, condition }: Dial): void {
    this.dial(target, { condition }).catch((error: unknown) => {
      if (!(error instanceof DialFailureError)) {
        this.#refused(error)
      }
    })
  }

  /**
   * Resolves with the connection. Rejects with a {@link DialFailureError}.
   *
   * @throws TypeError for a target or a condition that is none, RangeError for a wrong `timeoutMs`
   */
  async dial (target: DialTarget, options: DialOptions = {}): Promise<ConnectionDriver> {
    checkCallOptions(options, 'Cannot dial', ['condition'])
    const { condition = 'disconnected-and-not-dialing', signal, timeoutMs = DIAL_TIMEOUT_MS } = options
    checkCondition(condition)
    const parsed = parseTarget(target)
    const wait = new Wait<ConnectionDriver>({ scheduler: this.#components.terms.scheduler, action: 'Cannot wait for the dial', peer: parsed.peer }, { signal, timeoutMs })
    const refusal = this.#hasStopped ? 'aborted' : this.#refusalOf(parsed.peer, condition)
    const dial = this.#joinable(parsed.peer, refusal) ?? new OwnDial(nextConnectionId(), parsed, condition === 'always')
    dial.waiting++
    const outcome = refusal === undefined ? this.#dials.get(dial) ?? this.#begin(dial) : this.#run(dial, refusal)
    outcome.then(
      (connection) => { wait.resolve(connection) },
      (error: unknown) => { wait.reject(error as DialFailureError) }
    )
    try {
      return await wait.promise
    } catch (error) {
      throw error instanceof DialFailureError ? error : new DialFailureError(failureOf(dial, 'aborted', error as Error))
    } finally {
      this.#leave(dial)
    }
  }

  /** The dial that leads to `peer` at `address`, if it is one of the swarm. */
  find (peer: PeerId | undefined, address: Multiaddr): OwnDial | undefined {
    for (const dial of this.#dials.keys()) {
      if (dial.isFor(peer, address)) {
        return dial
      }
    }
    return undefined
  }

  /** The node is started; true if it had been stopped. */
  reopen (): boolean {
    const hadStopped = this.#hasStopped
    this.#hasStopped = false
    return hadStopped
  }

  /** The node stops: ends all dials, and refuses others. */
  async close (): Promise<void> {
    this.#hasStopped = true
    for (const dial of this.#dials.keys()) {
      dial.abort(new InvalidStateError(STOPPED))
    }
    await andAllComplete(this.#dials.values())
  }

  /** Why a dial must not even begin. */
  #refusalOf (peer: PeerId | undefined, condition: DialCondition): 'local-peer' | 'condition-false' | undefined {
    if (peer === undefined) {
      return undefined
    }
    if (peer.equals(this.#components.node.peerId)) {
      return 'local-peer'
    }
    return this.#holds(peer, condition) ? undefined : 'condition-false'
  }

  /** If the condition holds, a dial that is under way is as good as a new one; the host would make one of both. */
  #joinable (peer: PeerId | undefined, refusal: DialFailureKind | undefined): OwnDial | undefined {
    if (peer === undefined || refusal !== undefined) {
      return undefined
    }
    return [...this.#dials.keys()].find((dial) => dial.peer?.equals(peer) === true && !dial.signal.aborted)
  }

  #holds (peer: PeerId, condition: DialCondition): boolean {
    switch (condition) {
      case 'always':
        return true
      case 'disconnected':
        return !this.#components.isConnected(peer)
      case 'not-dialing':
        return !this.#isDialing(peer)
      case 'disconnected-and-not-dialing':
        return !this.#components.isConnected(peer) && !this.#isDialing(peer)
    }
  }

  #isDialing (peer: PeerId): boolean {
    const isFor = (other: PeerId | undefined): boolean => other?.equals(peer) === true
    return [...this.#dials.keys()].some((dial) => isFor(dial.peer))
      || this.#components.node.connectionManager.getDialQueue().some(({ peerId }) => isFor(peerId))
  }

  #begin (dial: OwnDial): Promise<ConnectionDriver> {
    const outcome = this.#run(dial).finally(() => { this.#dials.delete(dial) })
    this.#dials.set(dial, outcome)
    return outcome
  }

  /** A target of a behaviour that is none has an outcome all the same. */
  #refused (error: unknown): void {
    const dial = new OwnDial(nextConnectionId(), { peer: undefined, addresses: [] }, false)
    this.#components.driver.turn(() => { this.#gates.failed(failureOf(dial, 'no-addresses', error as Error)) })
  }

  /** Nobody waits any more: the dial ends. */
  #leave (dial: OwnDial): void {
    dial.waiting--
    if (dial.waiting === 0 && this.#dials.has(dial)) {
      dial.abort(new Error('Nobody waits for the dial any more'))
    }
  }

  async #run (dial: OwnDial, refusal?: DialFailureKind): Promise<ConnectionDriver> {
    try {
      if (refusal !== undefined) {
        throw new Failed(refusal, refusal === 'aborted' ? new InvalidStateError(STOPPED) : undefined)
      }
      return await this.#connect(dial)
    } catch (thrown) {
      const error = toError(thrown)
      const failure = error instanceof Failed ? failureOf(dial, error.kind, error.reason) : toFailure(dial, error)
      dial.abort(failure.cause)
      this.#components.driver.turn(() => { this.#gates.failed(failure) })
      throw new DialFailureError(failure)
    }
  }

  async #connect (dial: OwnDial): Promise<ConnectionDriver> {
    const { node, driver } = this.#components
    const pending = await this.#attemptOf(dial)
    await this.#passGate(dial, pending)
    // Without an address it is the host who finds one, if there is a peer to look for.
    const target = dial.addresses.length === 0 && dial.peer !== undefined ? dial.peer : [...dial.addresses]
    const connection = await this.#components.driven(await node.connectionManager.openConnection(target, hostOptions(dial)))
    if (dial.peer?.equals(connection.peer) === false) {
      connection.close()
      throw new Failed('wrong-peer')
    }
    // The host may give another connection than the one it made for this dial.
    driver.turn(() => { this.#gates.undo(dial.id, undefined) })
    return connection
  }

  /** Known addresses first, then those of behaviours. */
  async #attemptOf (dial: OwnDial): Promise<PendingConnection> {
    const { id, peer, signal } = dial
    const known = dial.given.length > 0 ? dial.given : await this.#knownAddresses(peer)
    const attempt: PendingConnection = { id, direction: 'outbound', addresses: known, peer, signal }
    const more = await this.#components.driver.ask(() => this.#gates.addressesForDial(attempt))
    dial.addresses = distinct([...known, ...more].map((address) => peer === undefined ? address : withPeer(address, peer)))
    if (peer === undefined && dial.addresses.length === 0) {
      throw new Failed('no-addresses')
    }
    return { ...attempt, addresses: dial.addresses }
  }

  async #knownAddresses (peer: PeerId | undefined): Promise<readonly Multiaddr[]> {
    try {
      return peer === undefined ? [] : (await this.#components.node.peerStore.get(peer)).addresses.map(({ multiaddr }) => multiaddr)
    } catch {
      return []
    }
  }

  async #passGate (dial: OwnDial, pending: PendingConnection): Promise<void> {
    const { driver, terms } = this.#components
    const denied = await passGate(driver, {
      question: { stage: 'pending', direction: 'outbound' },
      check: () => this.#gates.checkPending(pending),
      commit: () => this.#gates.commitPending(pending)
    }, terms, dial)
    dial.signal.throwIfAborted()
    if (denied !== undefined) {
      driver.turn(() => { this.#gates.denied(denied, dial.id, dial.peer) })
      throw new Failed('denied', denied)
    }
  }

  get #gates (): SwarmDriver<ConnectionDriver>['swarm']['gates'] {
    return this.#components.driver.swarm.gates
  }
}

const STOPPED = 'the node has stopped'

const CONDITIONS: Readonly<Record<DialCondition, true>> = {
  disconnected: true, 'not-dialing': true, 'disconnected-and-not-dialing': true, always: true
}

function checkCondition (condition: unknown): void {
  if (typeof condition !== 'string' || !Object.hasOwn(CONDITIONS, condition)) {
    const received = typeof condition === 'string' ? `"${show(condition)}"` : kindOf(condition)
    throw new TypeError(`Cannot dial: condition must be one of ${Object.keys(CONDITIONS).join(', ')}, received ${received}`)
  }
}

/** Failed for a reason that the host does not know. */
class Failed extends Error {
  readonly kind: DialFailureKind
  readonly reason: Error | undefined

  constructor (kind: DialFailureKind, reason?: Error) {
    super(kind)
    this.kind = kind
    this.reason = reason
  }
}

function toFailure (dial: OwnDial, error: Error): DialFailure {
  if (dial.signal.aborted) {
    // Why, in the words of whoever ended it; the host's own error says that it was ended.
    return failureOf(dial, 'aborted', toError(dial.signal.reason), error)
  }
  return dial.denial === undefined ? failureOf(dial, dialFailureKindOf(error), error) : failureOf(dial, 'denied', dial.denial, error)
}

function failureOf (dial: OwnDial, kind: DialFailureKind, cause: Error | undefined, thrown: Error | undefined = cause): DialFailure {
  const errors = thrown === undefined ? [] : addressFailuresOf(thrown, dial.tried)
  return { type: 'dial-failure', connection: dial.id, peer: dial.peer, kind, errors, cause }
}

/** The host tells in its progress which addresses it dials; that is the only place where it does. */
function hostOptions (dial: OwnDial): OpenConnectionOptions {
  return {
    signal: dial.signal,
    force: dial.isForced,
    onProgress: (event) => {
      if (event.type === 'dial-queue:calculated-addresses') {
        dial.tried.push(...event.detail.map(({ multiaddr }) => multiaddr))
      }
    }
  }
}
