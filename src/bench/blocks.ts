import type { PlannedCell } from './plan.ts'

/**
 * Puts the cells together that are compared with each other: those with a common baseline, and a cell and its twin. What the
 * machine does meanwhile comes and goes within seconds; of cells that are measured one after the other it moves both.
 *
 * @param cells - of which each has an id of its own
 */
export function comparisonBlocks (cells: readonly PlannedCell[]): PlannedCell[][] {
  const blocks = new Map<string, PlannedCell[]>()
  const heads = new Heads()
  for (const cell of cells) {
    heads.join(cell.id, taskKey(cell))
    for (const baseline of cell.baselineIds) {
      heads.join(cell.id, baseline)
    }
  }
  for (const cell of cells) {
    const head = heads.of(cell.id)
    const block = blocks.get(head)
    if (block === undefined) {
      blocks.set(head, [cell])
    } else {
      block.push(cell)
    }
  }
  return [...blocks.values()]
}

/** No id has a line break. A twin has an id of its own, and the task of another cell. */
function taskKey ({ task: { file, cell, against } }: PlannedCell): string {
  return [file, cell, against].join('\n')
}

/** Which names belong together, each to one head. */
class Heads {
  readonly #next = new Map<string, string>()

  join (name: string, other: string): void {
    const head = this.of(name)
    const otherHead = this.of(other)
    if (head !== otherHead) {
      this.#next.set(otherHead, head)
    }
  }

  of (name: string): string {
    let head = name
    for (let next = this.#next.get(head); next !== undefined; next = this.#next.get(head)) {
      head = next
    }
    return head
  }
}
