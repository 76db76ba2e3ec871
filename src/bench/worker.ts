/**
 * The isolate of one cell in one round: imports the bench file, measures, posts the outcome. Has its own code, feedback and
 * heap, so that no cell changes what the next one costs. Cells that are only checked share one.
 */

import { register } from 'node:module'
import { GCProfiler, getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parentPort, workerData } from 'node:worker_threads'
import { builtinExecutor } from './builtin.ts'
import { cellId } from './axes.ts'
import { describeMatrix, matricesOf } from './description.ts'
import { measure } from './measure.ts'
import { failureOf } from './task.ts'
import { versionOf } from './packages.ts'
import type { Executor } from './executor.ts'
import type { Description, Request } from './isolate.ts'
import type { Matrix } from './matrix.ts'
import type { Collections, Runtime } from './runtime.ts'
import type { Outcome, Task } from './task.ts'

let hooks: Promise<void> | undefined

const request = workerData as Request
switch (request.type) {
  case 'describe':
    parentPort?.postMessage(await describe(request.file))
    break
  case 'measure':
    parentPort?.postMessage(await perform(request.task))
    break
  case 'check':
    parentPort?.on('message', (task: Task) => { void perform(task).then(outcome => parentPort?.postMessage(outcome)) })
    break
}

async function describe (file: string): Promise<Description> {
  try {
    const matrices = await load(file)
    return { type: 'described', matrices: matrices.map(matrix => describeMatrix(file, matrix)) }
  } catch (error) {
    return { type: 'refused', message: error instanceof Error ? error.message : String(error) }
  }
}

async function perform (task: Task): Promise<Outcome> {
  try {
    const executor = await executorNamed(task.sampling?.executor ?? 'builtin')
    const matrices = await load(task.file, task.against)
    return await measure({ ...task, ...find(matrices, task) }, executor, nodeRuntime())
  } catch (error) {
    return failureOf('setup', error)
  }
}

async function load (file: string, against?: string): Promise<Matrix[]> {
  await (hooks ??= putHooks(file, against))
  return matricesOf(file, await import(file) as object)
}

/** All that an isolate loads is of one file and one build. */
async function putHooks (file: string, against?: string): Promise<void> {
  if (/\.[cm]?tsx?$/.test(file)) {
    await registerTypeScript()
  }
  if (against !== undefined) {
    register('./against-hook.js', import.meta.url, { data: against })
  }
}

/** Through tsx where it is installed; newer versions of Node.js need nothing. */
async function registerTypeScript (): Promise<void> {
  if (versionOf('tsx') !== undefined) {
    const tsx = await import('tsx/esm/api')
    tsx.register()
  }
}

async function executorNamed (name: 'benny' | 'builtin'): Promise<Executor> {
  if (name === 'builtin') {
    return builtinExecutor(now)
  }
  const { bennyExecutor } = await import('./benny.ts')
  return bennyExecutor(versionOf('benny') ?? '')
}

function find (matrices: readonly Matrix[], { matrix: name, cell: id }: Task): Pick<Parameters<typeof measure>[0], 'matrix' | 'cell'> {
  for (const matrix of matrices) {
    const cell = matrix.name === name ? matrix.cells.find(candidate => cellId(name, candidate) === id) : undefined
    if (cell !== undefined) {
      return { matrix, cell }
    }
  }
  throw new RangeError(`the bench file no longer has the cell ${id}`)
}

function now (): number {
  return performance.now()
}

function nodeRuntime (): Runtime {
  return {
    now,
    collect: collector(),
    heapUsed: () => getHeapStatistics().used_heap_size,
    watchCollections,
    switches: () => process.resourceUsage().involuntaryContextSwitches
  }
}

/** The flag is one of the process: isolates made after the first one have the function as a global, and spare a context. */
function collector (): () => void {
  setFlagsFromString('--expose-gc')
  return (globalThis.gc ?? runInNewContext('gc')) as () => void
}

function watchCollections (): () => Collections {
  const profiler = new GCProfiler()
  profiler.start()
  return () => {
    const { statistics } = profiler.stop()
    return {
      count: statistics.length,
      freedBytes: statistics.reduce((sum, { beforeGC, afterGC }) =>
        sum + beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize, 0)
    }
  }
}
