import { beforeEach, describe, expect, it, vi } from 'vitest'
import { attachBehaviour } from '../../src/behaviour/attach.ts'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { ConnectionDenied } from '../../src/behaviour/connection-denied.ts'
import { JointCheck } from '../../src/behaviour/joint-check.ts'
import { PENDING } from '../../src/core/poll.ts'
import { Full, GatedBehaviour, deny } from '../support/gated-behaviour.ts'
import { ALICE, BOB, NEVER_ABORTED, SOMEWHERE, componentsOf } from '../support/virtual-world.ts'
import type { Behaviours, EstablishedConnection, PendingConnection } from '../../src/behaviour/network-behaviour.ts'

const ATTEMPT: PendingConnection = { id: 'c1', direction: 'inbound', addresses: [SOMEWHERE], peer: undefined, signal: NEVER_ABORTED }
const CONNECTION: EstablishedConnection = { id: 'c1', peer: BOB, direction: 'inbound', address: SOMEWHERE, limits: undefined, signal: NEVER_ABORTED }

let calls: string[]
let a: GatedBehaviour
let b: GatedBehaviour
let c: GatedBehaviour

beforeEach(() => {
  calls = []
  a = new GatedBehaviour('a', calls)
  b = new GatedBehaviour('b', calls)
  c = new GatedBehaviour('c', calls)
})

function composed<const Parts extends Behaviours> (parts: Parts) {
  const composition = composeBehaviours(parts)
  attachBehaviour(composition, componentsOf(ALICE))
  return composition
}

describe('ConnectionDenied (S7.6)', () => {
  it('has the cause, and names it in its message', () => {
    const cause = new Full(3)
    const denied = new ConnectionDenied(cause)
    expect(denied).toMatchObject({ name: 'ConnectionDenied', cause })
    expect(denied.message).toBe('Connection denied: there are 3 already')
  })

  it('finds an error anywhere in the chain of causes, also in a ring', () => {
    const isFull = (error: Error): error is Full => error.name === 'Full'
    const full = new Full(2)
    expect(new ConnectionDenied(new Error('outer', { cause: new Error('middle', { cause: full }) })).find(isFull)?.limit).toBe(2)
    const ring = new Error('ring')
    ring.cause = ring
    expect(new ConnectionDenied(ring).find(isFull)).toBeUndefined()
  })
})

describe('the check of a composition (S7.3)', () => {
  it('asks all parts in order, and allows when nobody denies', () => {
    expect(composed({ a, b }).checkPending?.(ATTEMPT)).toBeUndefined()
    expect(composed({ c }).checkEstablished?.(CONNECTION)).toBeUndefined()
    expect(calls).toEqual(['a checkPending', 'b checkPending', 'c checkEstablished'])
  })

  it('gives the first denial in composition order, by its path', () => {
    b.gates.checkPending = deny(2)
    c.gates.checkPending = deny(3)
    const denied = composed({ a, group: composeBehaviours({ b, c }) }).checkPending?.(ATTEMPT)
    expect(denied).toMatchObject({ behaviour: 'group.b', stage: 'pending', direction: 'inbound', cause: { limit: 2 } })
    expect((denied as ConnectionDenied).message).toBe('Connection denied by "group.b" (pending, inbound): there are 2 already')
    expect(calls).toHaveLength(3)
  })

  it('denies when a part throws, or says what is no answer; the throw is reported', () => {
    const broken = new Error('broken')
    a.gates.checkEstablished = () => { throw broken }
    const composition = composed({ a })
    expect(composition.checkEstablished?.(CONNECTION)).toMatchObject({ behaviour: 'a', stage: 'established', cause: broken })
    expect(composition.poll?.({ now: 0, wake: () => {}, wakeAt: () => {} })).toMatchObject({ type: 'behaviour-fault', method: 'checkEstablished', cause: broken })
    b.gates.checkPending = () => false as never
    expect(composed({ b }).checkPending?.(ATTEMPT)).toMatchObject({ cause: { name: 'TypeError' } })
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- authors do
    c.gates.checkPending = () => { throw undefined }
    expect(composed({ c }).checkPending?.(ATTEMPT)).toMatchObject({ cause: { message: 'Something was thrown that is no error: undefined' } })
  })

  it('is still to come when an answer is that nobody before it denied', async () => {
    a.gates.checkPending = async () => undefined
    b.gates.checkPending = async () => new ConnectionDenied(new Full(2))
    c.gates.checkPending = deny(3)
    const check = composed({ a, group: composeBehaviours({ b }), c }).checkPending?.(ATTEMPT)
    expect(check).toBeInstanceOf(JointCheck)
    expect((check as JointCheck).answers.map(({ behaviour }) => behaviour)).toEqual(['a', 'group.b', 'c'])
    expect(await check).toMatchObject({ behaviour: 'group.b', cause: { limit: 2 } })
  })

  it('comes at once when a denial stands before every answer that is still to come, which may then fail unheard', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    a.gates.checkPending = deny(1)
    b.gates.checkPending = async () => { throw new Error('late') }
    expect(composed({ a, b }).checkPending?.(ATTEMPT)).toMatchObject({ behaviour: 'a' })
    await new Promise((resolve) => { setImmediate(resolve) })
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })

  it('denies when an answer rejects, and allows when all are well', async () => {
    a.gates.checkPending = async () => { throw new Error('no database') }
    expect(await composed({ a }).checkPending?.(ATTEMPT)).toMatchObject({ behaviour: 'a', cause: { message: 'no database' } })
    b.gates.checkPending = async () => undefined
    expect(await composed({ b, c }).checkPending?.(ATTEMPT)).toBeUndefined()
  })
})

describe('the commit of a composition (S7.4)', () => {
  it('goes in order, and is taken back in reverse order when a part denies after all', () => {
    c.gates.commitPending = deny()
    expect(composed({ a, b, c }).commitPending?.(ATTEMPT)).toMatchObject({ behaviour: 'c', stage: 'pending' })
    expect(calls).toEqual([
      'a commitPending', 'b commitPending', 'c commitPending', 'b rollback pending ConnectionDenied', 'a rollback pending ConnectionDenied'
    ])
    expect([...a.held, ...b.held, ...c.held]).toEqual([])
  })

  it('of the established stage makes no handler then, and nests', () => {
    c.gates.commitEstablished = () => { throw new Error('broken') }
    const denied = composed({ a, group: composeBehaviours({ b, c }) }).commitEstablished(CONNECTION)
    expect(denied).toMatchObject({ behaviour: 'group.c', stage: 'established', cause: { message: 'broken' } })
    expect(calls.slice(3)).toEqual(['b rollback established ConnectionDenied', 'a rollback established ConnectionDenied'])
  })

  it('is taken back by all parts, last one first, when the attempt comes to nothing (S7.5)', () => {
    const composition = composed({ a, group: composeBehaviours({ b }) })
    composition.commitPending?.(ATTEMPT)
    composition.rollback?.(ATTEMPT, new Error('cut'))
    expect(calls.slice(2)).toEqual(['b rollback pending Error', 'a rollback pending Error'])
  })

  it('is taken back by the others although one throws while it does', () => {
    b.onRollback = () => { throw new Error('broken') }
    const composition = composed({ a, b })
    composition.commitPending?.(ATTEMPT)
    composition.rollback?.(ATTEMPT, undefined)
    expect(a.held).toEqual([])
    expect(composition.poll?.({ now: 0, wake: () => {}, wakeAt: () => {} })).toMatchObject({ type: 'behaviour-fault', behaviour: 'b', method: 'rollback' })
  })

  it('of a stage that a part does not have is not taken back', () => {
    const rollback = vi.fn()
    const composition = composed({ part: { commitEstablished: () => undefined, rollback } })
    composition.commitPending?.(ATTEMPT)
    composition.rollback?.(ATTEMPT, undefined)
    expect(rollback).not.toHaveBeenCalled()
    composition.rollback?.(CONNECTION, 'why')
    expect(rollback).toHaveBeenCalledWith(CONNECTION, 'why')
  })
})

describe('addresses for a dial', () => {
  it('are those of all parts, in order; a thrower adds none', () => {
    const composition = composed({
      a: { commitEstablished: () => undefined, addressesForDial: () => [SOMEWHERE] },
      b: { commitEstablished: () => undefined, addressesForDial: () => { throw new Error('broken') } },
      c: { commitEstablished: () => undefined, addressesForDial: () => [SOMEWHERE.encapsulate('/ws')] },
      d
    })
    expect(composition.addressesForDial?.(ATTEMPT).map(String)).toEqual(['/ip4/127.0.0.1/tcp/1', '/ip4/127.0.0.1/tcp/1/ws'])
    expect(composition.poll?.({ now: 0, wake: () => {}, wakeAt: () => {} })).not.toBe(PENDING)
  })
  const d = { commitEstablished: () => undefined }
})
