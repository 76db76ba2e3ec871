import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Collects garbage; in a macrotask of its own, as what weak references led to is kept until the end of the present one. */
export async function collectGarbage (): Promise<void> {
  await new Promise((resolve) => { setImmediate(resolve) })
  collect()
}
