const EMPTY = new Map<never, never>()

/** An empty map that all who have nothing to keep share: whoever adds to it makes it their own first, by {@link ownMap}. */
export function emptyMap<Key, Value> (): Map<Key, Value> {
  return EMPTY
}

/** `map`, or a new one in place of that of {@link emptyMap}. */
export function ownMap<Key, Value> (map: Map<Key, Value>): Map<Key, Value> {
  return map === emptyMap<Key, Value>() ? new Map<Key, Value>() : map
}
