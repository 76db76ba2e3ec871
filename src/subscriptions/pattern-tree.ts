import { AdaptiveSet } from './adaptive-set.ts'
import { ChurnMap } from './churn-map.ts'

/** One value of a dimension; compared by identity. */
export type Key = string | number

/** What is asked for in each dimension: one key, any of several, or undefined for all there are. */
export type Pattern = ReadonlyArray<Key | readonly Key[] | undefined>

/** Where something lies in each dimension: at one key, or at several. */
export type Place = ReadonlyArray<Key | readonly Key[]>

/**
 * Items by pattern, found by place. The time of a search depends on the keys of the place and on the kinds of pattern that are
 * in use (2 to the power of the dimensions at most), not on the number of items or of keys.
 *
 * One level per dimension; a node leads on by key, and to what asks for all keys.
 */
export class PatternTree<Item> {
  readonly #root = new Node<Item>()

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

/** A level of the tree, or a group of items below the last one. */
class Node<Item> {
  #any: Node<Item> | undefined
  #byKey: ChurnMap<Key, Node<Item>> | undefined
  #items: AdaptiveSet<Item> | undefined

  add (pattern: Pattern, level: number, item: Item): void {
    if (level === pattern.length) {
      this.#items ??= new AdaptiveSet()
      this.#items.add(item)
      return
    }
    const keys = pattern[level]
    if (keys === undefined) {
      this.#any ??= new Node()
      this.#any.add(pattern, level + 1, item)
      return
    }
    for (const key of listOf(keys)) {
      this.#nodeAt(key).add(pattern, level + 1, item)
    }
  }

  /** Returns whether nothing is left below. */
  delete (pattern: Pattern, level: number, item: Item): boolean {
    if (level === pattern.length) {
      this.#items?.delete(item)
      return this.#items?.size === 0
    }
    const keys = pattern[level]
    if (keys === undefined) {
      if (this.#any?.delete(pattern, level + 1, item) === true) {
        this.#any = undefined
      }
    } else {
      for (const key of listOf(keys)) {
        if (this.#byKey?.get(key)?.delete(pattern, level + 1, item) === true) {
          this.#byKey.delete(key)
        }
      }
    }
    return this.#any === undefined && (this.#byKey === undefined || this.#byKey.size === 0)
  }

  find (place: Place, level: number, found: Array<AdaptiveSet<Item>>): void {
    if (this.#items !== undefined) {
      found.push(this.#items)
    }
    this.#any?.find(place, level + 1, found)
    if (this.#byKey !== undefined) {
      for (const key of listOf(place[level])) {
        this.#byKey.get(key)?.find(place, level + 1, found)
      }
    }
  }

  #nodeAt (key: Key): Node<Item> {
    this.#byKey ??= new ChurnMap()
    let node = this.#byKey.get(key)
    if (node === undefined) {
      node = new Node()
      this.#byKey.set(key, node)
    }
    return node
  }
}

function listOf (keys: Key | readonly Key[] | undefined): readonly Key[] {
  return keys === undefined ? [] : typeof keys === 'object' ? keys : [keys]
}
