import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LocalProtocols, ProtocolList } from '../../src/protocols/index.ts'
import type { ProtocolListing } from '../../src/protocols/index.ts'
import { NaiveLocalProtocols, isName } from '../support/naive-protocols.ts'

const MAX_NAME_BYTES = 12

const validName = fc.constantFrom('/a', '/b', '/c', '/d', '/e', '/f', '/é', '/😀', '/__proto__', '/A')
const invalidName = fc.constantFrom('', 'a', 'constructor', '/a\n', '/\ud83d', '/longer/than/12')
const anyName = fc.oneof({ weight: 6, arbitrary: validName }, { weight: 1, arbitrary: invalidName })

/** How one origin answers the next poll. */
type Step =
  | { readonly form: 'frozen' | 'fresh' | 'changed in place', readonly names: readonly string[] }
  | { readonly form: 'list', readonly names: readonly string[] }
  | { readonly form: 'same again' | 'last frozen again' | 'equal copy' }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ form: fc.constantFrom('frozen' as const, 'fresh' as const, 'changed in place' as const), names: fc.array(anyName, { maxLength: 9 }) }),
  fc.record({ form: fc.constant('list' as const), names: fc.array(validName, { maxLength: 6 }) }),
  fc.record({ form: fc.constantFrom('same again' as const, 'last frozen again' as const, 'equal copy' as const) })
)

/** A handler, or the host, whose answers take every form and share their objects from poll to poll. */
class Origin {
  listing: ProtocolListing = []
  readonly #list = new ProtocolList()
  readonly #own: string[] = []
  #frozen: readonly string[] = Object.freeze([])

  next (step: Step): void {
    switch (step.form) {
      case 'frozen':
        this.#frozen = Object.freeze([...step.names])
        this.listing = this.#frozen
        break
      case 'fresh':
        this.listing = [...step.names]
        break
      case 'changed in place':
        this.#own.splice(0, Infinity, ...step.names)
        this.listing = this.#own
        break
      case 'list':
        this.#list.replace(step.names)
        this.listing = this.#list
        break
      case 'last frozen again':
        this.listing = this.#frozen
        break
      case 'equal copy':
        this.listing = [...this.names]
        break
      case 'same again':
    }
  }

  get names (): readonly string[] {
    return this.listing instanceof ProtocolList ? this.listing.snapshot : this.listing
  }
}

const run = fc.array(fc.record({ handlers: step, host: step }), { minLength: 1, maxLength: 25 })
/** Small enough to be met, and none. */
const maxProtocols = fc.constantFrom(0, 1, 3, 5, Infinity)

function countOf (values: readonly unknown[]): number {
  return new Set(values).size
}

describe('the local diff (S10.7)', () => {
  it('gives the changes of its slow twin, in the same order, for every sequence of listings', () => {
    fc.assert(fc.property(run, maxProtocols, (polls, maxProtocols) => {
      const [handlers, host] = [new Origin(), new Origin()]
      const local = new LocalProtocols({ maxProtocols, maxNameBytes: MAX_NAME_BYTES })
      const twin = new NaiveLocalProtocols({ maxProtocols, maxNameBytes: MAX_NAME_BYTES })
      for (const poll of polls) {
        handlers.next(poll.handlers)
        host.next(poll.host)
        const { added, removed } = twin.update(handlers.names, host.names)
        const isChanged = local.update(handlers.listing, host.listing)
        expect({ isChanged, added: local.added, removed: local.removed })
          .toEqual({ isChanged: added.length + removed.length > 0, added, removed })
        expect([...local.names()]).toEqual([...twin.names])
        expect(local.size).toBe(twin.names.size)
      }
    }), { numRuns: 1000 })
  })

  it('folding the notices gives the set in force; none is empty and none adds or removes a name twice', () => {
    fc.assert(fc.property(run, maxProtocols, (polls, maxProtocols) => {
      const [handlers, host] = [new Origin(), new Origin()]
      const local = new LocalProtocols({ maxProtocols, maxNameBytes: MAX_NAME_BYTES })
      const folded = new Set<string>()
      for (const poll of polls) {
        handlers.next(poll.handlers)
        host.next(poll.host)
        const isChanged = local.update(handlers.listing, host.listing)
        expect(isChanged).toBe(local.added.length > 0 || local.removed.length > 0)
        for (const name of local.added) {
          expect(folded.has(name)).toBe(false)
          folded.add(name)
        }
        for (const name of local.removed) {
          expect(folded.delete(name)).toBe(true)
        }
        expect(folded).toEqual(new Set(local.toArray()))
        const valid = [...handlers.names, ...host.names].filter(name => isName(name, MAX_NAME_BYTES))
        expect(folded.size).toBe(Math.min(countOf(valid), maxProtocols))
      }
    }))
  })

  it('the snapshot lists the set in listing order with its owners, and outlives every later listing (S2.11, S3.4)', () => {
    fc.assert(fc.property(run, maxProtocols, (polls, maxProtocols) => {
      const [handlers, host] = [new Origin(), new Origin()]
      const local = new LocalProtocols({ maxProtocols, maxNameBytes: MAX_NAME_BYTES })
      const twin = new NaiveLocalProtocols({ maxProtocols, maxNameBytes: MAX_NAME_BYTES })
      const kept = polls.map(poll => {
        handlers.next(poll.handlers)
        host.next(poll.host)
        twin.update(handlers.names, host.names)
        local.update(handlers.listing, host.listing)
        if (Object.isFrozen(handlers.listing)) {
          expect(local.snapshot().listing).toBe(handlers.listing)
        }
        return { snapshot: local.snapshot(), listed: twin.listed, listing: [...handlers.names] }
      })
      for (const { snapshot, listed, listing } of kept) {
        expect(snapshot.names).toEqual(listed)
        expect(snapshot.listing).toEqual(listing)
        expect(listed.map(name => snapshot.find(name))).toEqual(listed.map(name => ({ name, isHost: !listing.includes(name), frame: undefined })))
        expect(snapshot.find('/never/listed')).toBeUndefined()
      }
    }))
  })

  it('warns once for each name that is invalid or listed again, and reports the limit once', () => {
    fc.assert(fc.property(run, maxProtocols, (polls, maxProtocols) => {
      const [handlers, host] = [new Origin(), new Origin()]
      const warned: string[] = []
      let limits = 0
      const local = new LocalProtocols({
        maxProtocols,
        maxNameBytes: MAX_NAME_BYTES,
        onWarning: ({ reason, protocol }) => { warned.push(`${reason} ${protocol}`) },
        onLimit: () => { limits++ }
      })
      const invalid = new Set<string>()
      let isOver = false
      for (const poll of polls) {
        handlers.next(poll.handlers)
        host.next(poll.host)
        local.update(handlers.listing, host.listing)
        const names = [...handlers.names, ...host.names]
        names.filter(name => !isName(name, MAX_NAME_BYTES)).forEach(name => invalid.add(name))
        isOver ||= countOf(names.filter(name => isName(name, MAX_NAME_BYTES))) > maxProtocols
      }
      expect(countOf(warned)).toBe(warned.length)
      expect(warned.filter(warning => warning.startsWith('invalid'))).toHaveLength(invalid.size)
      expect(limits).toBe(isOver ? 1 : 0)
    }))
  })
})
