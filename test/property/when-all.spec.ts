import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { andAllComplete, andAllSucceed, gather, inlineExecutor, whenAllComplete, whenAllSucceed } from '../../src/concurrency/index.ts'

/** One member: what it is, how it ends, and when, as its rank among those that are pending. */
interface Plan {
  readonly kind: 'value' | 'promise' | 'thenable' | 'pending'
  readonly isFailing: boolean
  readonly value: number
}

const plan: fc.Arbitrary<Plan> = fc.record({
  kind: fc.constantFrom('value', 'value', 'promise', 'promise', 'thenable', 'pending'), isFailing: fc.boolean(), value: fc.nat(99)
})
const plans = fc.oneof(fc.array(plan), fc.array(plan.map(plan => ({ ...plan, isFailing: false }))))
const settlingOrder = fc.infiniteStream(fc.nat(99))

/** Members by plan, made anew for each form; those that are pending end when told, in an order of their own. */
function make (plans: readonly Plan[], order: Iterator<number>): { members: unknown[], settle (): Promise<void> } {
  const endings: Array<() => void> = []
  const members = plans.map(({ kind, isFailing, value }) => {
    switch (kind) {
      case 'value': return value
      case 'promise': return isFailing ? Promise.reject(new Error(String(value))) : Promise.resolve(value)
      case 'thenable': return {
        then (resolve: (value: number) => void, reject: (reason: unknown) => void) {
          if (isFailing) {
            reject(new Error(String(value)))
          } else {
            resolve(value)
          }
        }
      }
      case 'pending': return new Promise((resolve, reject) => {
        endings.push(() => {
          if (isFailing) {
            reject(new Error(String(value)))
          } else {
            resolve(value)
          }
        })
      })
    }
  })
  const settle = async (): Promise<void> => {
    while (endings.length > 0) {
      await Promise.resolve()
      endings.splice(Number(order.next().value) % endings.length, 1)[0]!()
    }
  }
  return { members, settle }
}

type Form = (members: unknown[]) => unknown

/** How one form ends for these members. */
async function run (form: Form, plans: readonly Plan[], order: readonly number[]): Promise<unknown> {
  const { members, settle } = make(plans, order.values())
  const joined = Promise.resolve(form(members)).then(value => ({ value }), (reason: unknown) => ({ reason }))
  await settle()
  return await joined
}

async function expectSame (form: Form, twin: Form): Promise<void> {
  await fc.assert(fc.asyncProperty(plans, settlingOrder, async (plans, stream) => {
    const order = [...stream.take(plans.length)]
    expect(await run(form, plans, order)).toEqual(await run(twin, plans, order))
  }), { numRuns: 300 })
}

describe('joins equal those of the host, whatever their members are and however they end (S8.17, S8.18)', () => {
  it('whenAllSucceed and gather: Promise.all', async () => {
    await expectSame(members => whenAllSucceed(members), members => Promise.all(members))
    await expectSame(members => whenAllSucceed(members.values(), { on: inlineExecutor }), members => Promise.all(members))
    await expectSame(members => gather(members), members => Promise.all(members))
  })

  it('whenAllComplete: Promise.allSettled', async () => {
    await expectSame(members => whenAllComplete(members), members => Promise.allSettled(members))
    await expectSame(members => whenAllComplete(members.values(), { on: inlineExecutor }), members => Promise.allSettled(members))
  })

  it('andAllSucceed and andAllComplete: the same without results', async () => {
    await expectSame(members => andAllSucceed(members), members => Promise.all(members).then(() => {}))
    await expectSame(members => andAllComplete(members), members => Promise.allSettled(members).then(() => {}))
  })
})
