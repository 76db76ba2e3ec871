/**
 * Waiting for many things at little cost, and deciding where work runs. It has neither clock nor timers; what an executor
 * needs of its host is handed in.
 *
 * @module concurrency
 */

export { CoalescingExecutor } from './coalescing-executor.ts'
export type { CoalescingExecutorComponents, CoalescingExecutorInit, Task } from './coalescing-executor.ts'
export { inlineExecutor } from './executor.ts'
export type { Executor } from './executor.ts'
export { gather } from './gather.ts'
export type { Gathered, Outcomes } from './gather.ts'
export { andAllComplete, andAllSucceed, whenAllComplete, whenAllSucceed } from './when-all.ts'
export type { WhenAllOptions } from './when-all.ts'
