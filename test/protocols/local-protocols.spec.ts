import { describe, expect, it } from 'vitest'
import { encodeOpening } from '../../src/negotiation/message.ts'
import { LocalProtocols, ProtocolList } from '../../src/protocols/index.ts'
import type { ProtocolListing, ProtocolWarning } from '../../src/protocols/index.ts'

const NONE: readonly string[] = Object.freeze([])

interface Outcome {
  readonly isChanged: boolean
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

/** Updates, and copies the buffers, so that outcomes can be compared later. */
type Update = (handlers: ProtocolListing, host?: ProtocolListing) => Outcome
type Count = () => number

interface Setup {
  readonly local: LocalProtocols
  readonly update: Update
  readonly warnings: readonly ProtocolWarning[]
  readonly limits: Count
}

function localProtocols ({ maxProtocols = 4096, maxNameBytes = 1023 } = {}): Setup {
  const warnings: ProtocolWarning[] = []
  let limits = 0
  const local = new LocalProtocols({
    maxProtocols,
    maxNameBytes,
    onWarning: warning => { warnings.push(warning) },
    onLimit: () => { limits++ }
  })
  return {
    local,
    warnings,
    limits: () => limits,
    update: (handlers, host = NONE) => ({
      isChanged: local.update(handlers, host), added: [...local.added], removed: [...local.removed]
    })
  }
}

const unchanged: Outcome = { isChanged: false, added: [], removed: [] }

/** A frozen array that counts how often somebody looks at it. */
function watched (names: readonly string[]): { readonly listing: readonly string[], readonly looks: Count } {
  let looks = 0
  const listing = new Proxy(Object.freeze([...names]), {
    get (target, key): unknown {
      looks++
      return Reflect.get(target, key)
    },
    ownKeys (target) {
      looks++
      return Reflect.ownKeys(target)
    }
  })
  return { listing, looks: () => looks }
}

class WatchedList extends ProtocolList {
  looks = 0
  override get snapshot (): readonly string[] {
    this.looks++
    return super.snapshot
  }
}

describe('LocalProtocols: changes', () => {
  it('a new connection reports everything, and the same listing again reports nothing (C18)', () => {
    const names = Object.freeze(['/a', '/b'])
    for (const connection of [localProtocols(), localProtocols()]) {
      expect(connection.update(names)).toEqual({ isChanged: true, added: ['/a', '/b'], removed: [] })
      expect(connection.update(names)).toEqual(unchanged)
    }
  })

  it('an empty first listing is no change', () => {
    const { update, local } = localProtocols()
    expect(update([])).toEqual(unchanged)
    expect(local.size).toBe(0)
    expect(local.snapshot().names).toEqual([])
  })

  it('only the difference is reported (C09)', () => {
    const { update } = localProtocols()
    update(['/foo'])
    expect(update(['/foo', '/bar'])).toEqual({ isChanged: true, added: ['/bar'], removed: [] })
    expect(update(['/bar', '/baz'])).toEqual({ isChanged: true, added: ['/baz'], removed: ['/foo'] })
    expect(update(['/baz', '/bar'])).toEqual(unchanged)
  })

  it('added is in listing order of first mention, removed in the order of adding (S3.7)', () => {
    const { update, local } = localProtocols()
    expect(update(['/c', '/a', '/c', '/b'], ['/h', '/a']).added).toEqual(['/c', '/a', '/b', '/h'])
    update(['/b', '/a', '/c', '/d'], ['/h'])
    update(['/d', '/h'])
    update(['/d', '/h', '/c'])
    expect([...local.names()]).toEqual(['/h', '/d', '/c'])
    expect(update([]).removed).toEqual(['/h', '/d', '/c'])
  })

  it('added and removed describe the last update only, and nothing once they are forgotten', () => {
    const { local } = localProtocols()
    const change = () => [local.added, local.removed]
    local.update(['/a'], NONE)
    expect(change()).toEqual([['/a'], []])
    local.update([], NONE)
    expect(change()).toEqual([[], ['/a']])
    local.forget()
    expect(change()).toEqual([[], []])
    local.update(['/b'], NONE)
    local.update(['/b'], NONE)
    expect(change()).toEqual([[], []])
    expect(local.toArray()).toEqual(['/b'])
  })

  it('sets that began with the same names go their own ways', () => {
    const listing = Object.freeze(['/a', '/b'])
    const { local: first } = localProtocols()
    const { local: second } = localProtocols()
    for (const local of [first, second]) {
      local.update(listing, NONE)
      expect(local.snapshot().find('/a')).toMatchObject({ name: '/a', isHost: false })
    }
    const snapshot = second.snapshot()
    first.update(['/b', '/c'], NONE)
    expect([first.added, first.removed]).toEqual([['/c'], ['/a']])
    expect(first.toArray()).toEqual(['/b', '/c'])
    expect(first.snapshot().names).toEqual(['/b', '/c'])
    expect(second.toArray()).toEqual(['/a', '/b'])
    expect(second.snapshot()).toBe(snapshot)
    expect(second.snapshot().find('/c')).toBeUndefined()
    second.update(['/b', '/a'], ['/h'])
    expect([second.added, second.removed]).toEqual([['/h'], []])
  })

  it('sets that begin with the same listings share what streams may be agreed on, and no others do (S2.11)', () => {
    const [listing, host] = [Object.freeze(['/a', '/b']), Object.freeze(['/h'])]
    const begin = (handlers: readonly string[], others: readonly string[], maxProtocols?: number) => {
      const { local } = localProtocols(maxProtocols === undefined ? {} : { maxProtocols })
      local.update(handlers, others)
      return local.snapshot()
    }
    const first = begin(listing, host)
    expect(begin(listing, host)).toBe(first)
    expect(begin(listing, Object.freeze(['/h']))).toBe(first)
    expect(begin(['/a', '/b'], host)).toMatchObject({ names: first.names, listing })
    for (const [other, names] of [
      [begin(listing, NONE), ['/a', '/b']], [begin(NONE, host), ['/h']], [begin(listing, host, 1), ['/a']], [begin(['/b', '/a'], host), ['/b', '/a', '/h']]
    ] as const) {
      expect(other).not.toBe(first)
      expect(other.names).toEqual(names)
      expect(names.map(name => other.find(name)?.isHost)).toEqual(names.map(name => name === '/h'))
    }
  })

  it('isLast knows the frozen array that was listed last, and no other (S3.6)', () => {
    const { local } = localProtocols()
    const listing = Object.freeze(['/a'])
    expect(local.isLast(listing)).toBe(false)
    local.update(listing, NONE)
    expect([listing, Object.freeze(['/a']), ['/a']].map(names => local.isLast(names))).toEqual([true, false, false])
    local.update(['/a'], NONE)
    expect(local.isLast(['/a'])).toBe(false)
  })

  it('the same names of another side are not shared: whose they are differs', () => {
    const { local: first } = localProtocols()
    const { local: second } = localProtocols()
    first.update(['/a'], NONE)
    second.update([], ['/a'])
    expect(first.snapshot().find('/a')?.isHost).toBe(false)
    expect(second.snapshot().find('/a')?.isHost).toBe(true)
  })

  it('has, size, names and toArray show the set in force, in the order of adding', () => {
    const { local, update } = localProtocols()
    update(['/b', '/a'], ['/h'])
    update(['/c', '/b', '/a'], ['/h'])
    expect(local.size).toBe(4)
    expect([...local.names()]).toEqual(['/b', '/a', '/h', '/c'])
    expect(local.toArray()).toEqual(['/b', '/a', '/h', '/c'])
    expect(Object.isFrozen(local.toArray())).toBe(true)
    expect(local.has('/c')).toBe(true)
    expect(local.has('/d')).toBe(false)
  })

  it('names of prototypes are names like others (S3.1)', () => {
    const { update, local, warnings } = localProtocols()
    expect(update(['/__proto__', '__proto__', 'constructor']).added).toEqual(['/__proto__'])
    expect(local.has('constructor')).toBe(false)
    expect(warnings.map(({ protocol }) => protocol)).toEqual(['__proto__', 'constructor'])
  })
})

describe('LocalProtocols: cost (S3.6)', () => {
  it('the same frozen array is not looked at again', () => {
    const { update } = localProtocols()
    const { listing, looks } = watched(['/a', '/b'])
    expect(update(listing, listing).added).toEqual(['/a', '/b'])
    const before = looks()
    expect(update(listing, listing)).toEqual(unchanged)
    expect(looks()).toBe(before)
  })

  it('the same version of a ProtocolList is not looked at again', () => {
    const { update } = localProtocols()
    const list = new WatchedList(['/a'])
    update(list)
    expect(update(list)).toEqual(unchanged)
    expect(list.looks).toBe(1)
    list.add('/b')
    expect(update(list).added).toEqual(['/b'])
    expect(update(list)).toEqual(unchanged)
    expect(list.looks).toBe(2)
  })

  it('an array that is not frozen is looked at each time: it may have changed', () => {
    const { update } = localProtocols()
    const names = ['/a']
    update(names)
    names.push('/b')
    expect(update(names).added).toEqual(['/b'])
    names[0] = '/c'
    expect(update(names)).toEqual({ isChanged: true, added: ['/c'], removed: ['/a'] })
  })

  it('an array is asked once whether it is frozen, as long as it comes again', () => {
    const { update } = localProtocols()
    let asked = 0
    const names = new Proxy(['/a'], {
      isExtensible (target) {
        asked++
        return Reflect.isExtensible(target)
      }
    })
    update(names)
    names.push('/b')
    expect(update(names).added).toEqual(['/b'])
    expect(update(names)).toEqual(unchanged)
    expect(asked).toBe(1)
  })

  it('a listing of another kind with the same names is no change, and is followed from then on', () => {
    const { update } = localProtocols()
    const list = new ProtocolList(['/a'])
    const other = new ProtocolList(['/a'])
    update(list)
    for (const listing of [['/a'], Object.freeze(['/a']), list, other]) {
      expect(update(listing)).toEqual(unchanged)
    }
    list.add('/b')
    expect(update(other)).toEqual(unchanged)
    expect(update(list).added).toEqual(['/b'])
  })

  it('a listing that was left for another one counts as new when it comes back', () => {
    const { update } = localProtocols()
    for (const listing of [new ProtocolList(['/a']), Object.freeze(['/a']), ['/a']]) {
      update(listing)
      update(['/b'])
      expect(update(listing)).toEqual({ isChanged: true, added: ['/a'], removed: ['/b'] })
    }
  })

  it('a plain array never passes for the frozen one before it', () => {
    const { update } = localProtocols()
    const names = ['/a']
    update(Object.freeze(['/a']))
    update(names)
    names[0] = '/b'
    expect(update(names)).toEqual({ isChanged: true, added: ['/b'], removed: ['/a'] })
  })
})

describe('LocalProtocols: names left out', () => {
  it('invalid names enter no set, with one warning per name and connection (S3.2, N29)', () => {
    const { update, local, warnings } = localProtocols({ maxNameBytes: 4 })
    expect(update(['bad', '/a', 'bad'], ['/long', 'bad']).added).toEqual(['/a'])
    expect(update(['/b', 'bad', '/long']).added).toEqual(['/b'])
    expect(local.toArray()).toEqual(['/b'])
    expect(local.snapshot().names).toEqual(['/b'])
    expect(warnings).toEqual([
      { reason: 'invalid', protocol: 'bad', rule: 'must start with "/"' },
      { reason: 'invalid', protocol: '/long', rule: 'must have at most 4 bytes' }
    ])
  })

  it('warnings show names as printable text (S2.37)', () => {
    const { update, warnings } = localProtocols()
    update(['/a\n', '/\ud83d'])
    expect(warnings.map(({ protocol }) => protocol)).toEqual(['/a\\n', '/\\ud83d'])
  })

  it('what is no string is left out like an invalid name', () => {
    const { update, warnings } = localProtocols()
    // @ts-expect-error -- authors without types exist
    const listing: readonly string[] = [undefined, '/a', Symbol('/b'), undefined]
    expect(update(listing).added).toEqual(['/a'])
    expect(warnings).toEqual([
      { reason: 'invalid', protocol: '[undefined]', rule: 'must be a string' },
      { reason: 'invalid', protocol: '[symbol]', rule: 'must be a string' }
    ])
  })

  it('a name that is listed again is shadowed, with one warning per name and connection (S3.4)', () => {
    const { update, warnings } = localProtocols()
    update(['/a', '/b', '/a'], ['/b', '/c'])
    update(['/a', '/b', '/c'], ['/b', '/c'])
    expect(warnings).toEqual([
      { reason: 'shadowed', protocol: '/a' },
      { reason: 'shadowed', protocol: '/b' },
      { reason: 'shadowed', protocol: '/c' }
    ])
  })

  it('names past maxProtocols are ignored, last ones first, and reported once (S3.8)', () => {
    const { update, local, limits } = localProtocols({ maxProtocols: 2 })
    expect(update(['/a', 'bad', '/a', '/b']).added).toEqual(['/a', '/b'])
    expect(limits()).toBe(0)
    expect(update(['/a', '/b'], ['/h'])).toEqual(unchanged)
    expect(limits()).toBe(1)
    expect(update(['/c', '/a', '/b'], ['/h'])).toEqual({ isChanged: true, added: ['/c'], removed: ['/b'] })
    expect(local.snapshot().names).toEqual(['/c', '/a'])
    expect(update(['/b'], ['/h'])).toEqual({ isChanged: true, added: ['/b', '/h'], removed: ['/a', '/c'] })
    expect(limits()).toBe(1)
  })

  it('nobody has to listen to warnings and limits', () => {
    const local = new LocalProtocols({ maxProtocols: 1, maxNameBytes: 1023 })
    expect(local.update(['bad', '/a', '/a', '/b'], NONE)).toBe(true)
    expect(local.toArray()).toEqual(['/a'])
  })
})

describe('LocalProtocols: snapshot', () => {
  it('finds each name with its owner: a handler before the host (S3.4)', () => {
    const { update, local } = localProtocols()
    update(['/a', '/b'], ['/b', '/h'])
    const snapshot = local.snapshot()
    expect(snapshot.names).toEqual(['/a', '/b', '/h'])
    expect(Object.isFrozen(snapshot.names)).toBe(true)
    expect(snapshot.find('/b')).toEqual({ name: '/b', isHost: false, frame: undefined })
    expect(snapshot.find('/h')).toEqual({ name: '/h', isHost: true, frame: undefined })
    expect(snapshot.find('/x')).toBeUndefined()
    expect(snapshot.find('/a')).toBe(snapshot.find('/a'))
  })

  it('is in listing order, not in the order of adding', () => {
    const { update, local } = localProtocols()
    update(['/a', '/b'])
    update(['/b', '/c', '/a'])
    expect(local.snapshot().names).toEqual(['/b', '/c', '/a'])
    expect(local.toArray()).toEqual(['/a', '/b', '/c'])
  })

  it('is one object until a listing changes, and is not touched by a later change (S2.11)', () => {
    const { update, local } = localProtocols()
    update(['/a'])
    const before = local.snapshot()
    update(['/a'])
    expect(local.snapshot()).toBe(before)
    update(['/b'])
    expect(local.snapshot()).not.toBe(before)
    expect(before.names).toEqual(['/a'])
    expect(before.find('/a')?.name).toBe('/a')
    expect(before.find('/b')).toBeUndefined()
    expect(before.listing).toEqual(['/a'])
  })

  it('a name that moves between handlers and host changes its owner, without a change of the set (S3.4)', () => {
    const { update, local } = localProtocols()
    update(['/a'], ['/b'])
    local.snapshot()
    expect(update(['/a', '/b'])).toEqual(unchanged)
    expect(local.snapshot().find('/b')?.isHost).toBe(false)
    expect(update([], ['/a', '/b'])).toEqual(unchanged)
    expect(local.snapshot().find('/b')?.isHost).toBe(true)
  })

  it('hands back the very array of the handlers, also when another one has the same names (S4.13)', () => {
    const { update, local } = localProtocols()
    const [first, second] = [Object.freeze(['/a']), Object.freeze(['/a'])]
    update(first)
    const before = local.snapshot()
    expect(before.listing).toBe(first)
    expect(update(second)).toEqual(unchanged)
    const after = local.snapshot()
    expect(after.listing).toBe(second)
    expect(before.listing).toBe(first)
    expect(after.names).toBe(before.names)
    expect(after.find('/a')).toBe(before.find('/a'))
  })

  it('hands back the snapshot of a ProtocolList, and a copy of an array that may change', () => {
    const { update, local } = localProtocols()
    const list = new ProtocolList(['/a'])
    update(list)
    expect(local.snapshot().listing).toBe(list.snapshot)
    const names = ['/b']
    update(names)
    const { listing } = local.snapshot()
    names[0] = '/c'
    expect(listing).toEqual(['/b'])
  })

  it('keeps the frame that the negotiation put into an entry', () => {
    const { update, local } = localProtocols()
    update(['/a'])
    const entry = local.snapshot().find('/a')
    const frame = encodeOpening('/a')
    expect(entry).toBeDefined()
    if (entry !== undefined) {
      entry.frame = frame
    }
    expect(local.snapshot().find('/a')?.frame).toBe(frame)
  })
})
