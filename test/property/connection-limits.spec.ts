/** S7.3 to S7.5, S10.16: whatever becomes of attempts, in any interleaving, the counts of connectionLimits() equal a model. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { attachBehaviour } from '../../src/behaviour/attach.ts'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { toggle } from '../../src/behaviour/toggle.ts'
import { connectionLimits } from '../../src/behaviours/connection-limits.ts'
import { PENDING } from '../../src/core/poll.ts'
import { Swarm } from '../../src/swarm/swarm.ts'
import { GatedBehaviour, deny } from '../support/gated-behaviour.ts'
import { ALICE, BOB, CAROL, NEVER_ABORTED, SOMEWHERE, componentsOf } from '../support/virtual-world.ts'
import type { PeerId } from '@libp2p/interface'
import type { ConnectionOutput } from '../../src/connection/connection-output.ts'
import type { NegotiatedStream } from '../../src/behaviour/negotiated-stream.ts'
import type { Toggle } from '../../src/behaviour/inference.ts'
import type { Check, Denied } from '../../src/behaviour/connection-denied.ts'
import type { EstablishedConnection, PendingConnection } from '../../src/behaviour/network-behaviour.ts'
import type { ConnectionLimitValues, ConnectionLimitsBehaviour, LimitExceededError } from '../../src/behaviours/connection-limits.ts'
import type { Direction } from '../../src/core/ids.ts'
import type { Poll } from '../../src/core/poll.ts'
import type { PooledConnection } from '../../src/swarm/pooled-connection.ts'

const PEERS = [ALICE, BOB, CAROL] as const
const IDS = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5'] as const

/** A connection without streams, which closes when it is told to. */
class Bare implements PooledConnection {
  readonly id: string
  readonly status = { phase: 'open', activity: 'busy' } as const
  readonly #wake: () => void
  #isOver = false

  constructor (id: string, wake: () => void) {
    this.id = id
    this.#wake = wake
  }

  onBehaviourEvent (): boolean { return true }
  pollReport (): typeof PENDING { return PENDING }
  abort (): void { this.close() }
  stall (): void {}
  resume (): void {}

  close (): void {
    this.#isOver = true
    this.#wake()
  }

  poll (): Poll<ConnectionOutput<NegotiatedStream, unknown>> {
    return this.#isOver ? { type: 'closed', reason: 'local-close', cause: undefined, undelivered: [] } : PENDING
  }
}

/** What a connection of the model has behind it. */
interface Modelled {
  readonly direction: Direction
  readonly peer: PeerId
  /** Whom the attempt named, if it is a dial that names somebody. */
  target?: PeerId | undefined
  isPending?: boolean
  isEstablished?: boolean
  isOpen?: boolean
}

/** Counts by looking at everything, every time. */
class Model {
  readonly connections = new Map<string, Modelled>()
  readonly bypassing = new Set<PeerId>()
  limits: ConnectionLimitValues

  constructor (limits: ConnectionLimitValues) {
    this.limits = limits
  }

  counts () {
    const pending = (wanted: Direction) => this.#count(({ direction, isEstablished, isPending, target }) =>
      direction === wanted && isPending === true && isEstablished !== true && (target === undefined || !this.bypassing.has(target)))
    const established = (wanted: Direction) => this.#count((connection) => connection.direction === wanted && this.#counts(connection))
    const [establishedIncoming, establishedOutgoing] = [established('inbound'), established('outbound')]
    return {
      pendingIncoming: pending('inbound'), pendingOutgoing: pending('outbound'), establishedIncoming, establishedOutgoing,
      established: establishedIncoming + establishedOutgoing
    }
  }

  of (peer: PeerId): number {
    return this.#count((connection) => connection.peer === peer && this.#counts(connection))
  }

  /** The kind, limit and count of a denial, or undefined. */
  pending (direction: Direction, target: PeerId | undefined) {
    const { pendingIncoming, pendingOutgoing } = this.counts()
    if (direction === 'inbound') {
      return this.#deny('pending-inbound', this.limits.maxPendingIncoming, pendingIncoming)
    }
    return target !== undefined && this.bypassing.has(target) ? undefined : this.#deny('pending-outbound', this.limits.maxPendingOutgoing, pendingOutgoing)
  }

  established (direction: Direction, peer: PeerId) {
    if (this.bypassing.has(peer)) {
      return undefined
    }
    const { establishedIncoming, establishedOutgoing, established } = this.counts()
    return (direction === 'inbound'
      ? this.#deny('established-inbound', this.limits.maxEstablishedIncoming, establishedIncoming)
      : this.#deny('established-outbound', this.limits.maxEstablishedOutgoing, establishedOutgoing))
    ?? this.#deny('per-peer', this.limits.maxEstablishedPerPeer, this.of(peer))
    ?? this.#deny('total', this.limits.maxEstablished, established)
  }

  #counts ({ isEstablished, peer }: Modelled): boolean {
    return isEstablished === true && !this.bypassing.has(peer)
  }

  #count (matches: (connection: Modelled) => boolean): number {
    return [...this.connections.values()].filter(matches).length
  }

  #deny (kind: string, limit: number, current: number) {
    return current < limit ? undefined : { kind, limit, current }
  }
}

const limit = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constant(Infinity))
const limits = fc.record({
  maxPendingIncoming: limit, maxPendingOutgoing: limit, maxEstablishedIncoming: limit, maxEstablishedOutgoing: limit,
  maxEstablishedPerPeer: limit, maxEstablished: limit
})
const id = fc.constantFrom(...IDS)
const peer = fc.constantFrom(...PEERS)
const direction = fc.constantFrom<Direction>('inbound', 'outbound')
const isDenied = fc.boolean()
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('begin' as const), id, peer, direction, isNamed: fc.boolean(), isDenied: fc.constant(false) }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('establish' as const), id, peer, direction, isDenied: fc.constant(false) }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('enter' as const), id, peer, direction }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('begin' as const), id, peer, direction, isNamed: fc.boolean(), isDenied }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('establish' as const), id, peer, direction, isDenied }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('undo-established', 'fail', 'undo'), id }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('close' as const), id }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('set-limits' as const), limits: fc.record({ maxPendingIncoming: limit, maxEstablishedPerPeer: limit, maxEstablished: limit }, { requiredKeys: [] }) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('bypass', 'end-bypass'), peer }) }
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** A swarm of the limits and a part behind them that denies when told to, and the model of it. */
class Run {
  readonly model: Model
  readonly behaviour: ConnectionLimitsBehaviour
  readonly toggle: Toggle<ConnectionLimitsBehaviour>
  readonly guard = new GatedBehaviour('guard')
  readonly swarm: Swarm<unknown, Bare>

  constructor (initial: ConnectionLimitValues) {
    this.behaviour = connectionLimits(initial)
    this.toggle = toggle(this.behaviour)
    const root = composeBehaviours({ limits: this.toggle, guard: this.guard })
    attachBehaviour(root, componentsOf(ALICE))
    this.model = new Model(initial)
    this.swarm = new Swarm<unknown, Bare>(root, () => {})
  }

  do (step: Step): void {
    switch (step.type) {
      case 'begin':
        this.#begin(step)
        break
      case 'establish':
        this.#establish(step)
        break
      case 'enter':
        this.#enter(step)
        break
      case 'undo-established':
      case 'undo':
      case 'fail':
        this.#end(step)
        break
      case 'close':
        this.close(step.id)
        break
      case 'set-limits':
        this.behaviour.setLimits(step.limits)
        this.model.limits = { ...this.model.limits, ...step.limits }
        break
      case 'bypass':
        expect(this.behaviour.bypass(step.peer)).toBe(!this.model.bypassing.has(step.peer))
        this.model.bypassing.add(step.peer)
        break
      case 'end-bypass':
        expect(this.behaviour.endBypass(step.peer)).toBe(this.model.bypassing.delete(step.peer))
    }
    this.#drain()
  }

  check (): void {
    expect(this.behaviour.counts).toEqual(this.model.counts())
    expect(PEERS.map((peer) => this.behaviour.countOf(peer))).toEqual(PEERS.map((peer) => this.model.of(peer)))
  }

  /** The end of everything. */
  end (): void {
    for (const [id, { isOpen }] of [...this.model.connections]) {
      if (isOpen === true) {
        this.close(id)
      } else {
        this.swarm.gates.undo(id, 'the end')
        this.model.connections.delete(id)
      }
    }
    this.#drain()
  }

  close (id: string): void {
    if (this.model.connections.get(id)?.isOpen === true) {
      this.swarm.connection(id)?.close()
      this.model.connections.delete(id)
      this.#drain()
    }
  }

  #begin ({ id, peer, direction, isNamed, isDenied }: Extract<Step, { type: 'begin' }>): void {
    if (this.model.connections.has(id)) {
      return
    }
    const target = isNamed ? peer : undefined
    const attempt: PendingConnection = { id, direction, addresses: [SOMEWHERE], peer: target, signal: NEVER_ABORTED }
    const expected = this.model.pending(direction, target)
    expectDenial(this.swarm.gates.checkPending(attempt), expected)
    const denied = this.#commit(isDenied, 'commitPending', () => this.swarm.gates.commitPending(attempt))
    expectDenial(denied, expected, isDenied)
    if (denied === undefined) {
      this.model.connections.set(id, { direction, peer, target: direction === 'outbound' ? target : undefined, isPending: true })
    }
  }

  #establish ({ id, isDenied, ...other }: Extract<Step, { type: 'establish' }>): void {
    const known = this.model.connections.get(id)
    if (known?.isEstablished === true) {
      return
    }
    const { peer, direction } = known ?? other
    const connection = connectionOf(id, peer, direction)
    const expected = this.model.established(direction, peer)
    expectDenial(this.swarm.gates.checkEstablished(connection), expected)
    const denied = this.#commit(isDenied, 'commitEstablished', () => this.swarm.gates.commitEstablished(connection))
    expectDenial(denied, expected, isDenied)
    if (denied === undefined) {
      this.model.connections.set(id, { ...known, peer, direction, isEstablished: true })
    }
  }

  #enter ({ id, ...other }: Extract<Step, { type: 'enter' }>): void {
    const known = this.model.connections.get(id)
    if (known?.isOpen === true) {
      return
    }
    const { peer, direction } = known ?? other
    const expected = known?.isEstablished === true ? undefined : this.model.established(direction, peer)
    let denied: unknown
    try {
      this.swarm.establish(connectionOf(id, peer, direction), (_, wake) => new Bare(id, wake))
      this.model.connections.set(id, { peer, direction, isEstablished: true, isOpen: true })
    } catch (thrown) {
      denied = thrown
    }
    expectDenial(denied as Denied<Error>, expected)
  }

  #end ({ type, id }: Extract<Step, { type: 'undo' | 'undo-established' | 'fail' }>): void {
    const known = this.model.connections.get(id)
    if (known?.isOpen === true) {
      return
    }
    if (type === 'undo-established') {
      this.swarm.gates.undoEstablished(id, 'why')
      if (known?.isPending === true) {
        known.isEstablished = false
      } else {
        this.model.connections.delete(id)
      }
      return
    }
    this.model.connections.delete(id)
    if (type === 'undo') {
      this.swarm.gates.undo(id, 'why')
    } else {
      this.swarm.gates.failed({ type: 'listen-failure', connection: id, peer: undefined, kind: 'transport', errors: [], cause: undefined })
    }
  }

  /** The part behind the limits denies at the last moment, so that what they committed is taken back. */
  #commit (isDenied: boolean, gate: 'commitPending' | 'commitEstablished', commit: () => Denied<Error>): Denied<Error> {
    this.guard.gates = isDenied ? { [gate]: deny() } : {}
    const denied = commit()
    this.guard.gates = {}
    return denied
  }

  #drain (): void {
    while (this.swarm.poll(0) !== PENDING) { /* until it rests */ }
  }
}

function connectionOf (id: string, peer: PeerId, direction: Direction): EstablishedConnection {
  return { id, peer, direction, address: SOMEWHERE, limits: undefined, signal: NEVER_ABORTED }
}

function expectDenial (answer: Check<Error>, expected: object | undefined, isDeniedByOther = false): void {
  const cause = (answer as Denied<LimitExceededError>)?.cause
  if (expected === undefined && isDeniedByOther) {
    expect(cause?.name).toBe('Full')
  } else if (expected === undefined) {
    expect(answer).toBe(undefined)
  } else {
    expect(cause).toMatchObject({ name: 'LimitExceededError', ...expected })
    expect(answer).toMatchObject({ behaviour: 'limits' })
  }
}

describe('connectionLimits() under random attempts', () => {
  it('denies and counts as the model does, after every step, and holds nothing in the end', { timeout: 60_000 }, () => {
    fc.assert(fc.property(limits, fc.array(step, { maxLength: 60, size: 'max' }), (initial, steps) => {
      const run = new Run(initial)
      for (const next of steps) {
        run.do(next)
        run.check()
      }
      run.end()
      run.check()
      expect(run.behaviour.counts).toEqual({ pendingIncoming: 0, pendingOutgoing: 0, establishedIncoming: 0, establishedOutgoing: 0, established: 0 })
    }), { numRuns: 500 })
  })

  it('holds nothing in the end when it is switched off and on in between (S7.14)', { timeout: 60_000 }, () => {
    const noLimits: ConnectionLimitValues = {
      maxPendingIncoming: Infinity, maxPendingOutgoing: Infinity, maxEstablishedIncoming: Infinity, maxEstablishedOutgoing: Infinity,
      maxEstablishedPerPeer: Infinity, maxEstablished: Infinity
    }
    const quiet = step.filter(({ type }) => type !== 'set-limits')
    fc.assert(fc.property(fc.array(fc.oneof({ weight: 5, arbitrary: quiet }, { weight: 1, arbitrary: fc.constant('switch' as const) }), { maxLength: 60, size: 'max' }), (steps) => {
      const run = new Run(noLimits)
      for (const next of steps) {
        if (next !== 'switch') {
          run.do(next)
        } else if (run.toggle.enabled) {
          run.toggle.disable()
        } else {
          run.toggle.enable()
        }
      }
      run.end()
      expect(run.behaviour.counts).toMatchObject({ pendingIncoming: 0, pendingOutgoing: 0, established: 0 })
    }), { numRuns: 300 })
  })
})
