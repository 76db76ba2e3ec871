import { beforeEach, describe, expect, it } from 'vitest'
import { attachBehaviour } from '../../src/behaviour/attach.ts'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { IdleHandler } from '../../src/handler/idle-handler.ts'
import { PENDING } from '../../src/core/poll.ts'
import { Swarm } from '../../src/swarm/swarm.ts'
import { Full, GatedBehaviour, deny } from '../support/gated-behaviour.ts'
import { ALICE, BOB, NEVER_ABORTED, SOMEWHERE, componentsOf } from '../support/virtual-world.ts'
import type { ConnectionDenied } from '../../src/behaviour/connection-denied.ts'
import type { EstablishedConnection, PendingConnection } from '../../src/behaviour/network-behaviour.ts'
import type { AnyHandler } from '../../src/behaviour/connection-handler.ts'
import type { PooledConnection } from '../../src/swarm/pooled-connection.ts'

const ATTEMPT: PendingConnection = { id: 'c1', direction: 'outbound', addresses: [SOMEWHERE], peer: BOB, signal: NEVER_ABORTED }
const CONNECTION: EstablishedConnection = { id: 'c1', peer: BOB, direction: 'outbound', address: SOMEWHERE, limits: undefined, signal: NEVER_ABORTED }

let calls: string[]
let a: GatedBehaviour
let b: GatedBehaviour
let swarm: Swarm<unknown>

beforeEach(() => {
  calls = []
  a = new GatedBehaviour('a', calls)
  b = new GatedBehaviour('b', calls)
  const root = composeBehaviours({ a, b })
  attachBehaviour(root, componentsOf(ALICE))
  swarm = new Swarm<unknown>(root, () => {})
})

function drain () {
  const events = []
  for (let event = swarm.poll(0); event !== PENDING; event = swarm.poll(0)) {
    events.push(event)
  }
  return events
}

const stub: PooledConnection = {
  id: 'c1', status: { phase: 'open', activity: 'busy' }, onBehaviourEvent: () => true, stall: () => {}, resume: () => {}, close: () => {}, abort: () => {}, poll: () => PENDING, pollReport: () => PENDING
}

describe('a connection that passed the gates', () => {
  it('has the handler that was made there, and nothing of it is taken back any more', () => {
    swarm.gates.commitPending(ATTEMPT)
    swarm.gates.commitEstablished(CONNECTION)
    const handlers: AnyHandler[] = []
    swarm.establish(CONNECTION, (handler) => { handlers.push(handler); return stub }, [SOMEWHERE])
    swarm.gates.undo('c1', 'late')
    expect(handlers[0]).not.toBeInstanceOf(IdleHandler)
    expect(a.held).toEqual(['pending c1', 'established c1'])
    expect(drain()).toMatchObject([{ type: 'connection-established', failedAddresses: [SOMEWHERE] }])
    expect(calls.filter((call) => call.includes('Established'))).toEqual(['a commitEstablished', 'b commitEstablished'])
  })

  it('may come without them: then it is committed on the way, or denied', () => {
    swarm.establish(CONNECTION, () => stub)
    expect(a.held).toEqual(['established c1'])
    b.gates.commitEstablished = deny()
    const other = { ...CONNECTION, id: 'c2' }
    expect(() => swarm.establish(other, () => stub)).toThrow(expect.objectContaining({ name: 'ConnectionDenied', behaviour: 'b' }))
    expect(a.held).toEqual(['established c1'])
  })

  it('leaves nothing behind when it cannot be made', () => {
    swarm.gates.commitPending(ATTEMPT)
    const broken = new Error('broken')
    expect(() => swarm.establish(CONNECTION, () => { throw broken })).toThrow(broken)
    expect([...a.held, ...b.held]).toEqual([])
    expect(calls.slice(4)).toEqual(['b rollback established Error', 'a rollback established Error', 'b rollback pending Error', 'a rollback pending Error'])
  })
})

describe('an attempt that comes to nothing (S7.5)', () => {
  it('is taken back, latest stage and latest part first, exactly once; then all are told, and everybody else', () => {
    swarm.gates.commitPending(ATTEMPT)
    swarm.gates.commitEstablished(CONNECTION)
    const cause = new Error('cut')
    const failure = { type: 'dial-failure', connection: 'c1', peer: BOB, kind: 'transport', errors: [{ address: SOMEWHERE, error: cause }], cause } as const
    swarm.gates.failed(failure)
    swarm.gates.failed(failure)
    expect(calls.slice(4)).toEqual(['b rollback established Error', 'a rollback established Error', 'b rollback pending Error', 'a rollback pending Error'])
    expect(drain()).toEqual([failure, failure])
    expect(b.swarmEvents).toEqual([failure, failure])
    expect(Object.isFrozen(b.swarmEvents[0])).toBe(true)
  })

  it('may be taken back by one stage, and go on', () => {
    swarm.gates.commitPending(ATTEMPT)
    swarm.gates.commitEstablished(CONNECTION)
    swarm.gates.undoEstablished('c1', 'one address')
    expect(a.held).toEqual(['pending c1'])
    swarm.gates.commitEstablished(CONNECTION)
    expect(a.held).toEqual(['pending c1', 'established c1'])
  })
})

describe('a denial', () => {
  it('is placed, and reported without the behaviours', () => {
    b.gates.checkEstablished = deny(2)
    const denied = swarm.gates.checkEstablished(CONNECTION) as ConnectionDenied
    swarm.gates.denied(denied, 'c1', BOB)
    expect(drain()).toEqual([{
      type: 'connection-denied', behaviour: 'b', stage: 'established', direction: 'outbound', cause: expect.any(Full) as unknown, connection: 'c1', peer: BOB
    }])
    expect(b.swarmEvents).toEqual([])
  })

  it('of a root that is no composition has no path', () => {
    const root = new GatedBehaviour('root')
    root.gates = { checkPending: deny(), commitPending: deny() }
    const { gates } = new Swarm<unknown>(root, () => {})
    expect(gates.checkPending(ATTEMPT)).toMatchObject({ behaviour: '', stage: 'pending', direction: 'outbound' })
    expect(gates.commitPending(ATTEMPT)).toMatchObject({ behaviour: '', stage: 'pending', direction: 'outbound' })
  })
})

describe('gates inside a poll', () => {
  it('throw, as every input does (S1.3)', () => {
    let thrown: unknown
    const poll = (): typeof PENDING => {
      try { inner.gates.checkPending(ATTEMPT) } catch (error) { thrown = error }
      return PENDING
    }
    const inner = new Swarm<unknown>({ commitEstablished: () => undefined, poll }, () => {})
    inner.poll(0)
    expect(thrown).toMatchObject({ name: 'InvalidStateError' })
  })
})
