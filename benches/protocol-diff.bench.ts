import { matrix } from 'libp2p-behaviours/bench'
import { LocalProtocols, ProtocolList } from 'libp2p-behaviours/protocols'
import { NaiveLocalProtocols } from '../test/support/naive-protocols.ts'
import { CloningDiffer, ResettingDiffer } from './diff-twins.ts'
import { namesOf } from './negotiate.ts'
import type { ProtocolListing } from 'libp2p-behaviours/protocols'
import type { Work } from 'libp2p-behaviours/bench'
import type { Differ } from './diff-twins.ts'

/** Looks at listings, one an iteration; the checksum is how often the set of names changed. */
interface Bench {
  look (iterations: number): number
  /** How many of so many looks have to find a change. */
  changes (iterations: number): number
}

const common = {
  run: ({ look }: Bench, iterations: number) => look(iterations),
  verify: ({ changes }: Bench, { iterations, checksum }: Work) => checksum === changes(iterations)
}

/**
 * How one finds that nothing changed. In `LocalProtocols`:
 * - `identity`: the same frozen array
 * - `revision`: the same `ProtocolList` in the same version
 * - `positional`: the same names in an array that is not frozen, and so may have changed
 * - `marks`: the same names in another order: a mark for each, by the parity of the listing
 *
 * And beside it:
 * - `call`: nobody looks; the listing is asked for
 * - `reset`: marks that are reset before each listing
 * - `clone`: a new `Set`, compared with the last one
 */
const UNCHANGED = ['call', 'identity', 'revision', 'positional', 'marks', 'reset', 'clone'] as const

const SIZES = [1, 10, 100, 1000, 10_000] as const

/** Nothing changes; one connection, one handler. */
const unchanged = matrix({
  name: 'protocol-diff',
  axes: {
    protocols: SIZES,
    variant: UNCHANGED
  },
  // One name has no other order.
  exclude: ({ protocols, variant }) => protocols === 1 && (variant === 'marks' || variant === 'reset'),
  baseline: { variant: 'clone' },
  claims: [
    { where: { variant: 'identity' }, axis: 'protocols', slope: [-0.1, 0.1] },
    { where: { variant: 'revision' }, axis: 'protocols', slope: [-0.1, 0.1] },
    { where: { variant: 'identity' }, to: { variant: 'call' }, ratio: [0, 3] },
    { where: { variant: 'revision' }, to: { variant: 'call' }, ratio: [0, 3] },
    { where: { variant: 'positional' }, axis: 'protocols', slope: [0.85, 1.2] },
    { where: { variant: 'positional', protocols: 10 }, to: { variant: 'marks' }, ratio: [0, 0.25] },
    { where: { variant: 'positional', protocols: 100 }, to: { variant: 'marks' }, ratio: [0, 0.25] },
    { where: { variant: 'positional', protocols: 1000 }, to: { variant: 'marks' }, ratio: [0, 0.25] },
    { where: { variant: 'positional', protocols: 10_000 }, to: { variant: 'marks' }, ratio: [0, 0.25] },
    { where: { variant: 'marks' }, to: { variant: 'reset' }, ratio: [0, 0.85] },
    { where: { variant: 'identity' }, bytes: 0 },
    { where: { variant: 'revision' }, bytes: 0 },
    ...SIZES.flatMap(protocols => (['positional', 'marks'] as const).map(variant => (
      // Less than a byte a name: an array of names or a mark in a box takes eight or more.
      { where: { protocols, variant }, bytes: [0, protocols - 1] } as const
    )))
  ],
  setup: ({ protocols, variant }) => UNCHANGED_BENCHES[variant](namesOf(protocols)),
  ...common
})

const UNCHANGED_BENCHES: Record<typeof UNCHANGED[number], (names: string[]) => Bench> = {
  call: names => calls(names),
  identity: names => turns(ours(), [names]),
  revision: names => turns(ours(), [new ProtocolList(names)]),
  positional: names => turns(ours(), [[...names]]),
  marks: names => turns(ours(), inTwoOrders(names)),
  reset: names => turns(new ResettingDiffer(), inTwoOrders(names)),
  clone: names => turns(new CloningDiffer(), [names])
}

/**
 * What changes from one look to the next, and back with the one after:
 * - `reordered`: the order only
 * - `one-added`: one name is there, or is not
 * - `one-replaced`: one name goes, and another one comes in its place
 * - `all-replaced`: other names, all of them
 */
const CHANGES = ['reordered', 'one-added', 'one-replaced', 'all-replaced'] as const

/** Something changes with every look. */
const changing = matrix({
  name: 'protocol-diff-changes',
  axes: {
    change: CHANGES,
    protocols: [10, 1000],
    variant: ['marks', 'clone']
  },
  baseline: { variant: 'clone' },
  setup: ({ change, protocols, variant }) => turns(variant === 'marks' ? ours() : new CloningDiffer(), CHANGED[change](namesOf(protocols))),
  ...common
})

const CHANGED: Record<typeof CHANGES[number], (names: string[]) => ReadonlyArray<readonly string[]>> = {
  reordered: inTwoOrders,
  'one-added': names => frozen(names, [...names, '/bench/added/1.0.0']),
  'one-replaced': names => frozen(names, [...names.slice(0, -1), '/bench/other/1.0.0']),
  'all-replaced': names => frozen(names, names.map(name => `${name}/other`))
}

/** Nothing changes on many connections, which are looked at in turn: what each remembers is no longer in a cache. */
const cold = matrix({
  name: 'protocol-diff-connections',
  axes: {
    connections: [1, 1000],
    protocols: [100],
    variant: ['identity', 'positional', 'marks', 'clone']
  },
  baseline: { variant: 'clone' },
  setup: ({ connections, protocols, variant }) => {
    const names = namesOf(protocols)
    const listings = { identity: [names], positional: [[...names]], marks: inTwoOrders(names), clone: [names] }[variant]
    return inTurn(Array.from({ length: connections }, () => variant === 'clone' ? new CloningDiffer() : ours()), listings)
  },
  ...common
})

export default [unchanged, changing, cold]

/** Of the library, as a connection has it. */
function ours (): Differ & { update (listing: ProtocolListing): boolean } {
  const local = new LocalProtocols({ maxProtocols: Infinity, maxNameBytes: 1023 })
  const noNames: readonly string[] = Object.freeze([])
  return {
    get added () { return local.added },
    get removed () { return local.removed },
    get size () { return local.size },
    update: listing => local.update(listing, noNames)
  }
}

/** Whether `differ` finds the same changes in the listings as the naive twin, once round and back at the first. */
function compare (differ: { update (listing: never): boolean } & Differ, listings: readonly ProtocolListing[]): void {
  const naive = new NaiveLocalProtocols({ maxProtocols: Infinity, maxNameBytes: 1023 })
  for (const listing of [...listings, ...listings, ...listings.slice(0, 1)]) {
    const isChanged = differ.update(listing as never)
    const { added, removed } = naive.update(listing instanceof ProtocolList ? listing.snapshot : listing, [])
    const isSame = isChanged === (added.length + removed.length > 0) && differ.size === naive.names.size
    if (!isSame || String(differ.added) !== String(added) || String(differ.removed) !== String(removed)) {
      throw new Error('the fast form and its slow twin disagree')
    }
  }
}

/** Looks at the listings in turn, from the second one on: the first is in force. */
function turns<Listing extends ProtocolListing> (
  differ: Differ & { update (listing: Listing): boolean }, listings: readonly Listing[]
): Bench {
  compare(differ, listings)
  const isChanging = changesOf(listings)
  const source = sourceOf(listings)
  return {
    look (iterations) {
      let changed = 0
      for (let left = iterations; left > 0; left--) {
        changed += differ.update(source.listing()) ? 1 : 0
      }
      return changed
    },
    changes: iterations => isChanging ? iterations : 0
  }
}

/** Looks at the listings in turn, each time on another connection, by a stride that visits all of them. */
function inTurn (differs: ReadonlyArray<Differ>, listings: ReadonlyArray<readonly string[]>): Bench {
  differs.forEach(differ => { compare(differ, listings) })
  let at = 0
  let round = 1
  return {
    look (iterations) {
      let changed = 0
      for (let left = iterations; left > 0; left--) {
        const listing = listings[round % listings.length]
        const differ = differs[at]
        if (listing !== undefined && differ !== undefined) {
          changed += differ.update(listing) ? 1 : 0
        }
        at += 7
        if (at >= differs.length) {
          at %= differs.length
          round++
        }
      }
      return changed
    },
    changes: () => 0
  }
}

/** The checksum is the number of calls that gave another listing than the one, of which there is none. */
function calls (names: readonly string[]): Bench {
  const source = sourceOf([names])
  return {
    look (iterations) {
      let other = 0
      for (let left = iterations; left > 0; left--) {
        other += source.listing() === names ? 0 : 1
      }
      return other
    },
    changes: () => 0
  }
}

/** What a handler answers. */
class Source<Listing> {
  readonly #listings: readonly [Listing, Listing]
  #isFirst = true

  constructor (first: Listing, second: Listing) {
    this.#listings = [first, second]
  }

  listing (): Listing {
    this.#isFirst = !this.#isFirst
    return this.#listings[this.#isFirst ? 0 : 1]
  }
}

function sourceOf<Listing> (listings: readonly Listing[]): Source<Listing> {
  const [first, second = first] = listings
  if (first === undefined || second === undefined) {
    throw new RangeError('there is nothing to list')
  }
  return new Source(first, second)
}

function changesOf (listings: readonly ProtocolListing[]): boolean {
  const [first, second = first] = listings.map(listing => new Set(listing instanceof ProtocolList ? listing.snapshot : listing))
  return first !== undefined && second !== undefined
    && (first.size !== second.size || [...first].some(name => !second.has(name)))
}

function inTwoOrders (names: readonly string[]): ReadonlyArray<readonly string[]> {
  return frozen(names, names.toReversed())
}

function frozen (...listings: ReadonlyArray<readonly string[]>): ReadonlyArray<readonly string[]> {
  return listings.map(listing => Object.freeze([...listing]))
}
