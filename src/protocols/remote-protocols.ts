import { utf8Length } from '../core/utf8.ts'
import { commonSet } from './common-sets.ts'
import { brokenProtocolRule } from './stream-protocol.ts'

/** Of all connections on which nobody has reported. */
const NO_HOLDERS: ReadonlyMap<string, number> = new Map()
const NO_SET: ReadonlySet<string> = new Set()

/** What a set of names and a map from names have in common. */
interface Names {
  readonly size: number
  has (name: string): boolean
  keys (): Iterable<string>
}
/** Of all reports that brought, or took away, nothing. */
const NO_NAMES: readonly string[] = Object.freeze([])

/** Limits of a {@link RemoteProtocols}; each holds per source, as a peer may fill every one of them. */
export interface RemoteProtocolsInit {
  /** Most names of one source. */
  maxNames: number
  /** Most bytes of one source: its names in UTF-8. */
  maxBytes: number
  /** Longest name in UTF-8 bytes, `maxFrameLength` - 1: a longer one could never be opened. */
  maxNameBytes: number
}

/** What was left of a report that held too much, or names that can never be opened (S3.21). */
export interface TruncatedReport {
  /** Names that the source holds after the report. */
  readonly kept: number
  /** Names of the report that were left out. */
  readonly dropped: number
}

/** What a report does to the names of its source; `replaced` lists them all. */
export type RemoteReportChange = 'added' | 'removed' | 'replaced'

/**
 * What the peer of one connection speaks, as far as anybody reported: the union over the sources (S3.18 to S3.21).
 *
 * A source is told by identity: a handler part, or `'host'`. A name is added when its first source reports it, and
 * removed when its last source withdraws it.
 */
export class RemoteProtocols {
  readonly #limits: Readonly<RemoteProtocolsInit>
  /** A few at most: one per part of the handler that ever reported, and the host. */
  #sources: SourceNames[] | undefined
  /** How many sources hold each name; made when a second one reports, as the names of the only one are the union. */
  #ownHolders: Map<string, number> | undefined
  #added: string[] | undefined
  #removed: string[] | undefined
  #truncated: TruncatedReport | undefined

  /**
   * @param init - a frozen one is kept, so that many can share it
   */
  constructor (init: Readonly<RemoteProtocolsInit>) {
    this.#limits = Object.isFrozen(init) ? init : { ...init }
  }

  /** Names that the last report brought, in its order, until {@link forget}. */
  get added (): readonly string[] {
    return this.#added ?? NO_NAMES
  }

  /** Names that the last report took away, in the order in which they had been added, until {@link forget}. */
  get removed (): readonly string[] {
    return this.#removed ?? NO_NAMES
  }

  /** What was left out of the last report; undefined when all of it was taken. */
  get truncated (): TruncatedReport | undefined {
    return this.#truncated
  }

  /** Distinct names of all sources. */
  get size (): number {
    return this.#union.size
  }

  /** Whether any source says that the peer speaks `protocol`. */
  has (protocol: string): boolean {
    return this.#union.has(protocol)
  }

  /** The names, in the order in which they were added. */
  names (): Iterable<string> {
    return this.#union.keys()
  }

  /** The names as a frozen copy, in the order in which they were added. */
  toArray (): readonly string[] {
    return Object.freeze([...this.#union.keys()])
  }

  /** Whether `source`, or without it any source, has reported and not withdrawn: only then does an absent name mean "no". */
  hasReport (source?: unknown): boolean {
    return source === undefined ? this.#sources !== undefined : this.#namesOf(source) !== undefined
  }

  /** Whether names of any source were cut off at its limits: an absent name may be among them. */
  get isCut (): boolean {
    return this.#sources?.some(({ isCut }) => isCut) === true
  }

  /**
   * Takes one report of `source`.
   *
   * @returns whether the set changed; then {@link added} and {@link removed} say how
   */
  apply (source: unknown, change: RemoteReportChange, protocols: readonly string[]): boolean {
    this.forget()
    const held = this.#namesOf(source) ?? new SourceNames(source)
    if (this.#ownHolders === undefined) {
      if (this.#sources === undefined || this.#sources[0] === held) {
        this.#applyOnly(held, change, protocols)
        return this.#added !== undefined || this.#removed !== undefined
      }
      this.#ownHolders = new Map(Array.from(this.#union.keys(), name => [name, 1]))
    }
    switch (change) {
      case 'added':
        this.#fill(held, protocols, name => { this.#hold(name) })
        this.#keep(held)
        break
      case 'removed':
        this.#release(protocols.filter(name => held.delete(name)))
        this.#keep(held)
        break
      case 'replaced': {
        const next = new SourceNames(source)
        this.#fill(next, protocols, name => { this.#hold(name) })
        this.#release(held.names)
        this.#keep(next)
      }
    }
    return this.#added !== undefined || this.#removed !== undefined
  }

  /** What the last report changed is known by all who need to: it takes memory until this, or the next report. */
  forget (): void {
    this.#added = undefined
    this.#removed = undefined
    this.#truncated = undefined
  }

  /** Those that have reported, in a copy. */
  sources (): readonly unknown[] {
    return this.#sources?.map(({ source }) => source) ?? []
  }

  /** `source` has closed: takes away all that nobody else reports. Returns as {@link apply} does. */
  withdraw (source: unknown): boolean {
    this.forget()
    const held = this.#namesOf(source)
    if (held !== undefined && this.#ownHolders === undefined) {
      this.#sources = undefined
      this.#removed = listOf(held.names)
    } else if (held !== undefined) {
      const left = this.#sources?.filter(names => names !== held) ?? []
      this.#sources = left.length === 0 ? undefined : left
      this.#release(held.names)
    }
    return this.#removed !== undefined
  }

  get #union (): Names {
    return this.#ownHolders ?? this.#sources?.[0]?.names ?? NO_HOLDERS
  }

  /** A report of the only source. What stays keeps its place, as among many. */
  #applyOnly (held: SourceNames, change: RemoteReportChange, protocols: readonly string[]): void {
    const next = change === 'replaced' ? new SourceNames(held.source) : held.copy()
    if (change === 'removed') {
      for (const name of protocols) {
        next.delete(name)
      }
    } else {
      this.#fill(next, protocols, () => {})
    }
    this.#added = listOf(next.names, name => !held.names.has(name))
    this.#removed = listOf(held.names, name => !next.names.has(name))
    held.become(next, this.added, this.removed)
    this.#keep(held)
  }

  #namesOf (source: unknown): SourceNames | undefined {
    return this.#sources?.find(names => names.source === source)
  }

  /** From now on `names` are those of their source. */
  #keep (names: SourceNames): void {
    const sources = this.#sources ?? []
    const at = sources.findIndex(({ source }) => source === names.source)
    this.#sources = at < 0 ? sources.concat(names) : sources.map((held, index) => index === at ? names : held)
  }

  /** Adds to `source` the first of `protocols`, up to its limits; from the first one that does not fit, no further. */
  #fill (source: SourceNames, protocols: readonly string[], onNew: (name: string) => void): void {
    const { maxNames, maxBytes, maxNameBytes } = this.#limits
    let isFull = false
    let dropped = 0
    for (const name of protocols) {
      if (source.names.has(name)) {
        continue
      }
      if (brokenProtocolRule(name, maxNameBytes) !== undefined) {
        dropped++
        continue
      }
      isFull ||= source.names.size >= maxNames || source.bytes + utf8Length(name) > maxBytes
      if (isFull) {
        source.isCut = true
        dropped++
        continue
      }
      source.add(name)
      onNew(name)
    }
    if (dropped > 0) {
      this.#truncated = { kept: source.names.size, dropped }
    }
  }

  #hold (name: string): void {
    if (this.#countHolder(name, 1) === 1) {
      this.#added ??= []
      this.#added.push(name)
    }
  }

  /** Names that nobody holds any more are taken out in the order of the map, whatever the order of `names`. */
  #release (names: Iterable<string>): void {
    let orphans = 0
    for (const name of names) {
      if (this.#countHolder(name, -1) === 0) {
        orphans++
      }
    }
    if (orphans > 0) {
      this.#sweep()
    }
  }

  #countHolder (name: string, step: 1 | -1): number {
    this.#ownHolders ??= new Map<string, number>()
    const holders = (this.#ownHolders.get(name) ?? 0) + step
    this.#ownHolders.set(name, holders)
    return holders
  }

  #sweep (): void {
    for (const [name, holders] of this.#ownHolders ?? []) {
      if (holders === 0) {
        this.#ownHolders?.delete(name)
        this.#removed ??= []
        this.#removed.push(name)
      }
    }
  }
}

/** Those of `names` that are wanted; undefined for none. */
function listOf (names: Iterable<string>, isWanted: (name: string) => boolean = () => true): string[] | undefined {
  const list = [...names].filter(isWanted)
  return list.length === 0 ? undefined : list
}

/** What one source reported and has not taken back. */
class SourceNames {
  readonly source: unknown
  bytes = 0
  /** It reported more than is kept, and has not said all of it anew since. */
  isCut = false
  /** The names, while nobody else has this very set. */
  #own: Set<string> | undefined
  /** Else: shared with other connections, and copied before it is changed. */
  #common: ReadonlySet<string> = NO_SET

  constructor (source: unknown) {
    this.source = source
  }

  get names (): ReadonlySet<string> {
    return this.#own ?? this.#common
  }

  add (name: string): void {
    this.#writable.add(name)
    this.bytes += utf8Length(name)
  }

  copy (): SourceNames {
    const copy = new SourceNames(this.source)
    copy.#own = new Set(this.names)
    copy.bytes = this.bytes
    copy.isCut = this.isCut
    return copy
  }

  /** Takes on what `other` is, and loses and gains names in the order in which they are given. */
  become ({ bytes, isCut }: SourceNames, added: Iterable<string>, removed: Iterable<string>): void {
    const names = this.#writable
    for (const name of removed) {
      names.delete(name)
    }
    for (const name of added) {
      names.add(name)
    }
    this.bytes = bytes
    this.isCut = isCut
    this.#common = commonSet(names)
    this.#own = undefined
  }

  /** True if `name` was there. */
  delete (name: string): boolean {
    const isHeld = this.names.has(name) && this.#writable.delete(name)
    if (isHeld) {
      this.bytes -= utf8Length(name)
    }
    return isHeld
  }

  get #writable (): Set<string> {
    this.#own ??= new Set(this.#common)
    return this.#own
  }
}
