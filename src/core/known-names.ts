/** Longer names are not compared: their nearest is no likely slip. */
const MAX_COMPARED = 64

/**
 * What to say of a name that does not exist: `there is no option "idleTimeout", did you mean idleTimeoutMs? Known are ...`.
 *
 * @param what - what is named: `option`
 * @param name - printable, see `show`
 * @param known - all names there are
 */
export function unknownName (what: string, name: string, known: readonly string[]): string {
  const near = nearestOf(name, known)
  const list = known.length === 0 ? 'none' : known.join(', ')
  return near === undefined ? `there is no ${what} "${name}"; known are ${list}` : `there is no ${what} "${name}", did you mean ${near}? Known are ${list}`
}

/** The known name with the fewest edits to `name`, upper and lower case being one; undefined when all are far from it. */
function nearestOf (name: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined
  let fewest = Math.max(2, Math.floor(name.length / 4)) + 1
  if (name.length <= MAX_COMPARED) {
    for (const candidate of known) {
      const edits = editsBetween(name.toLowerCase(), candidate.toLowerCase())
      if (edits < fewest && edits < candidate.length / 2) {
        nearest = candidate
        fewest = edits
      }
    }
  }
  return nearest
}

/** Characters to insert, delete or replace (Levenshtein). */
function editsBetween (left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, at) => at)
  for (let at = 1; at <= left.length; at++) {
    const next = [at]
    for (let to = 1; to <= right.length; to++) {
      const replaced = (row[to - 1] ?? 0) + (left[at - 1] === right[to - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[right.length] ?? 0
}
