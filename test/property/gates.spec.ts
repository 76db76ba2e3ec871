/** S10.16: a denial or a throw, at any part and stage, leaves every behaviour equal to its state before the attempt. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { attachBehaviour } from '../../src/behaviour/attach.ts'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { mapBehaviour } from '../../src/behaviour/map.ts'
import { toggle } from '../../src/behaviour/toggle.ts'
import { PENDING } from '../../src/core/poll.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'
import { GatedBehaviour, deny } from '../support/gated-behaviour.ts'
import { passGate } from '../../src/libp2p/verdict.ts'
import { Swarm } from '../../src/swarm/swarm.ts'
import { ALICE, BOB, NEVER_ABORTED, SOMEWHERE, componentsOf } from '../support/virtual-world.ts'
import type { AnyBehaviour, EstablishedConnection, PendingConnection } from '../../src/behaviour/network-behaviour.ts'
import type { GateName } from '../support/gated-behaviour.ts'

/** A composition as a tree: leaves are numbers, in order of construction. */
type Tree = { kind: 'leaf' } | { kind: 'group', parts: Tree[] } | { kind: 'map' | 'toggle', inner: Tree }

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant<Tree>({ kind: 'leaf' }),
    fc.record({ kind: fc.constant<'group'>('group'), parts: fc.array(tie('tree'), { minLength: 1, maxLength: 4 }) }),
    fc.record({ kind: fc.constantFrom('map', 'toggle'), inner: tie('tree') })
  )
}))

const failures = fc.record({
  gate: fc.constantFrom<GateName>('checkPending', 'commitPending', 'checkEstablished', 'commitEstablished'),
  how: fc.constantFrom('deny', 'throw', 'later', 'reject'),
  /** Which leaf, by its share of all. */
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
})

function build (shape: Tree, leaves: GatedBehaviour[], calls: string[]): AnyBehaviour {
  switch (shape.kind) {
    case 'leaf': {
      const leaf = new GatedBehaviour(`leaf ${leaves.length}`, calls)
      leaves.push(leaf)
      return leaf
    }
    case 'group':
      return composeBehaviours(Object.fromEntries(shape.parts.map((part, at) => [`k${at}`, build(part, leaves, calls)])))
    case 'map':
      return mapBehaviour(build(shape.inner, leaves, calls), { out: (event) => event })
    case 'toggle':
      return toggle(build(shape.inner, leaves, calls))
  }
}

function break_ (leaf: GatedBehaviour, gate: GateName, how: string): void {
  const isCheck = gate.startsWith('check')
  leaf.gates[gate] = how === 'deny' || (how === 'later' && !isCheck)
    ? deny()
    : how === 'later' ? async () => deny()() : how === 'reject' && isCheck ? async () => { throw new Error('rejected') } : () => { throw new Error('thrown') }
}

/** Leads one connection through all gates, as the adapter does; true if it came through. */
async function attempt (swarm: Swarm<unknown>): Promise<boolean> {
  const terms = { scheduler: new ManualScheduler(), gateTimeoutMs: 5000, onRejection: () => {} }
  const driver = { ask: <Answer> (input: () => Answer) => input() }
  const pending: PendingConnection = { id: 'c1', direction: 'inbound', addresses: [SOMEWHERE], peer: undefined, signal: NEVER_ABORTED }
  const established: EstablishedConnection = { id: 'c1', peer: BOB, direction: 'inbound', address: SOMEWHERE, limits: undefined, signal: NEVER_ABORTED }
  const { gates } = swarm
  const denied = await passGate(driver, {
    question: { stage: 'pending', direction: 'inbound' }, check: () => gates.checkPending(pending), commit: () => gates.commitPending(pending)
  }, terms, { isOver: false, signal: NEVER_ABORTED }) ?? await passGate(driver, {
    question: { stage: 'established', direction: 'inbound' }, check: () => gates.checkEstablished(established), commit: () => gates.commitEstablished(established)
  }, terms, { isOver: false, signal: NEVER_ABORTED })
  if (denied !== undefined) {
    gates.failed({ type: 'listen-failure', connection: 'c1', peer: undefined, kind: 'denied', errors: [], cause: denied })
  }
  while (swarm.poll(0) !== PENDING) { /* until it rests */ }
  return denied === undefined
}

describe('gates (S10.16)', () => {
  it('leave every behaviour as it was when one denies or throws, in whatever composition, at whatever stage', async () => {
    await fc.assert(fc.asyncProperty(tree, failures, async (shape, { gate, how, at }) => {
      const leaves: GatedBehaviour[] = []
      const calls: string[] = []
      const root = composeBehaviours({ root: build(shape, leaves, calls) })
      attachBehaviour(root, componentsOf(ALICE))
      const swarm = new Swarm<unknown>(root, () => {})
      break_(leaves[Math.floor(at * leaves.length)]!, gate, how)
      expect(await attempt(swarm)).toBe(false)
      for (const leaf of leaves) {
        expect(leaf.held).toEqual([])
        expect(leaf.swarmEvents.map(({ type }) => type)).toEqual(['listen-failure'])
      }
      const committed = calls.filter((call) => call.includes('commit')).length
      const takenBack = calls.filter((call) => call.includes('rollback')).length
      // The gate that denied was called, but did not commit.
      expect(takenBack).toBe(gate.startsWith('commit') ? committed - 1 : committed)
    }), { numRuns: 300 })
  })

  it('let pass what nobody denies: every leaf commits both stages, once', async () => {
    await fc.assert(fc.asyncProperty(tree, async (shape) => {
      const leaves: GatedBehaviour[] = []
      const root = composeBehaviours({ root: build(shape, leaves, []) })
      attachBehaviour(root, componentsOf(ALICE))
      expect(await attempt(new Swarm<unknown>(root, () => {}))).toBe(true)
      for (const leaf of leaves) {
        expect(leaf.held).toEqual(['pending c1', 'established c1'])
      }
    }), { numRuns: 100 })
  })
})
