/** More than the kinds of software that the peers of a node run, and that change from one release to the next. */
const MAX_SETS = 64
/** Peers choose what they announce: a longer list is kept by its connection alone. */
const MAX_KEY_LENGTH = 4096

/** By their names in order, the one that was asked for last at the end. */
const sets = new Map<string, ReadonlySet<string>>()

/**
 * `names`, or a set with the same names in the same order that somebody had before, and that nobody may change: peers that
 * run the same software announce the same names, on each of their connections.
 */
export function commonSet (names: ReadonlySet<string>): ReadonlySet<string> {
  if (isLong(names)) {
    return names
  }
  const key = [...names].join('\n')
  const known = sets.get(key) ?? names
  sets.delete(key)
  sets.set(key, known)
  for (const oldest of sets.keys()) {
    if (sets.size <= MAX_SETS) {
      break
    }
    sets.delete(oldest)
  }
  return known
}

/** Looked at first: of a list that a peer made long no text is made. */
function isLong (names: ReadonlySet<string>): boolean {
  let length = names.size - 1
  for (const name of names) {
    length += name.length
    if (length > MAX_KEY_LENGTH) {
      return true
    }
  }
  return false
}
