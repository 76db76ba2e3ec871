import { AdaptiveSet } from './adaptive-set.ts'
import { ChurnMap } from './churn-map.ts'

/** One value of a dimension; compared by identity. */
export type Key = string | number

/** What is asked for in each dimension: one key, any of several, or undefined for all there are. */
export type Pattern = ReadonlyArray<Key | readonly Key[] | undefined>

/** Where something lies in each dimension: at one key, at several, or, with undefined, at none. */
export type Place = ReadonlyArray<Key | readonly Key[] | undefined>

/**
 * Items by pattern, found by place. The time of a search depends on the keys of the place and on the kinds of pattern that are
 * in use (2 to the power of the dimensions at most), not on the number of items or of keys.
 *
 * One level per dimension; a node leads on by key, and to what asks for all keys.
 */
export class PatternTree<Item> {
  readonly #root = new Branch<Item>()

  /** Puts `item` in; once, if it is in under this pattern already. */
  add (pattern: Pattern, item: Item): void {
    this.#root.add(pattern, 0, item)
  }

  /** Takes out what was put in under `pattern`, and whatever led only there. */
  delete (pattern: Pattern, item: Item): void {
    this.#root.delete(pattern, 0, item)
  }

  /** The groups of items whose pattern covers `place`: each in order of insertion, none empty; an item may be in several. */
  find (place: Place): Array<AdaptiveSet<Item>> {
    const found: Array<AdaptiveSet<Item>> = []
    this.#root.find(place, 0, found)
    return found
  }
}

interface Node<Item> {
  add (pattern: Pattern, level: number, item: Item): void
  /** Returns whether nothing is left. */
  delete (pattern: Pattern, level: number, item: Item): boolean
  find (place: Place, level: number, found: Array<AdaptiveSet<Item>>): void
}

/** One dimension. */
class Branch<Item> implements Node<Item> {
  #any: Node<Item> | undefined
  #byKey: ChurnMap<Key, Node<Item>> | undefined

  add (pattern: Pattern, level: number, item: Item): void {
    const keys = pattern[level]
    const isLast = level + 1 >= pattern.length
    if (keys === undefined) {
      this.#any ??= nodeAfter(isLast)
      this.#any.add(pattern, level + 1, item)
      return
    }
    this.#byKey ??= new ChurnMap()
    for (const key of listOf(keys)) {
      const node = this.#byKey.get(key) ?? nodeAfter(isLast)
      this.#byKey.set(key, node)
      node.add(pattern, level + 1, item)
    }
  }

  delete (pattern: Pattern, level: number, item: Item): boolean {
    const keys = pattern[level]
    if (keys === undefined && this.#any?.delete(pattern, level + 1, item) === true) {
      this.#any = undefined
    }
    for (const key of listOf(keys)) {
      if (this.#byKey?.get(key)?.delete(pattern, level + 1, item) === true) {
        this.#byKey.delete(key)
      }
    }
    if (this.#byKey?.size === 0) {
      this.#byKey = undefined
    }
    return this.#any === undefined && this.#byKey === undefined
  }

  find (place: Place, level: number, found: Array<AdaptiveSet<Item>>): void {
    this.#any?.find(place, level + 1, found)
    if (this.#byKey !== undefined) {
      for (const key of listOf(place[level])) {
        this.#byKey.get(key)?.find(place, level + 1, found)
      }
    }
  }
}

/** Those who have their pattern in common, behind the last dimension. */
class Group<Item> implements Node<Item> {
  readonly #items = new AdaptiveSet<Item>()

  add (_pattern: Pattern, _level: number, item: Item): void {
    this.#items.add(item)
  }

  delete (_pattern: Pattern, _level: number, item: Item): boolean {
    this.#items.delete(item)
    return this.#items.size === 0
  }

  find (_place: Place, _level: number, found: Array<AdaptiveSet<Item>>): void {
    found.push(this.#items)
  }
}

function nodeAfter<Item> (isLast: boolean): Node<Item> {
  return isLast ? new Group() : new Branch()
}

function listOf (keys: Pattern[number]): readonly Key[] {
  return keys === undefined ? [] : typeof keys === 'object' ? keys : [keys]
}
