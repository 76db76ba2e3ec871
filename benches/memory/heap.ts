/** The heap of this process, with a collection on demand whether or not Node was started with `--expose-gc`. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** More than one pass: what a finalizer or a weak map lets go is free in the next one. */
const COLLECTIONS = 4

/** Bytes in use after a full collection. */
export function heapInUse (): number {
  for (let left = COLLECTIONS; left > 0; left--) {
    collect()
  }
  return process.memoryUsage().heapUsed
}

/** Runs that are measured; the least of them counts, as nothing but the work allocates in all of them. */
const RUNS = 5

/** Bytes that `work` allocates, the least of several runs, less what looking allocates; wrong if a collection falls into all of them. */
export function bytesAllocated (work: () => void): number {
  const runs = Array.from({ length: RUNS }, () => grownBy(work))
  const looks = Array.from({ length: RUNS }, () => grownBy(() => {}))
  return Math.max(0, Math.min(...runs.filter(bytes => bytes >= 0)) - Math.min(...looks))
}

function grownBy (work: () => void): number {
  heapInUse()
  const before = process.memoryUsage().heapUsed
  work()
  return process.memoryUsage().heapUsed - before
}
