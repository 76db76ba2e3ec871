/** Labels that touch: they share one centre. */
interface Run {
  /** Places in the list that was given, from the top. */
  readonly members: readonly number[]
  /** Of the heights that they want. */
  readonly sum: number
}

/**
 * Heights for labels that would cover each other at the heights they want: each stays as near to its own as it can.
 *
 * @param wanted - in any order; the answer is in the same
 * @param step - the least distance
 * @param top - no label stands above
 */
export function spreadLabels (wanted: readonly number[], step: number, top: number): number[] {
  const runs: Run[] = []
  for (const { y, at } of wanted.map((y, at) => ({ y, at })).sort((a, b) => a.y - b.y)) {
    let run: Run = { members: [at], sum: y }
    for (let above = runs.at(-1); above !== undefined && touch(above, run, step); above = runs.at(-1)) {
      runs.pop()
      run = { members: [...above.members, ...run.members], sum: above.sum + run.sum }
    }
    runs.push(run)
  }
  const placed = wanted.map(() => 0)
  let next = top
  for (const { members, sum } of runs) {
    next = Math.max(next, centreOf({ members, sum }) - (members.length - 1) * step / 2)
    for (const at of members) {
      placed[at] = next
      next += step
    }
  }
  return placed
}

function touch (above: Run, below: Run, step: number): boolean {
  return centreOf(below) - centreOf(above) < (above.members.length + below.members.length) * step / 2
}

function centreOf ({ members, sum }: Run): number {
  return sum / members.length
}
