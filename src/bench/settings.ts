import { fit, leastTime } from './budget.ts'
import { environmentOf } from './environment.ts'
import { formatTime, significant } from './format.ts'
import { installCommand } from './packages.ts'
import type { Amounts } from './budget.ts'
import type { Host } from './host.ts'
import type { RunCommand } from './options.ts'
import type { Plan } from './plan.ts'
import type { Environment } from './report.ts'
import type { Sampling } from './task.ts'

/** What a run was asked for, what there is time for, and what is installed, made into one. */
export interface Settings {
  readonly amounts: Amounts
  readonly executor: Sampling['executor']
  /** Always the same ones, so that runs can be paired. */
  readonly seeds: readonly number[]
  readonly environment: Environment
  /** Lines for the user. */
  readonly warnings: readonly string[]
}

/**
 * Settles how to run.
 *
 * @throws Error with one line for the user when there is not enough time, or an executor is asked for that is not installed
 */
export function settle (plan: Plan, command: RunCommand, orderSeed: number, host: Host): Settings {
  const amounts = fittedAmounts(plan.cells.length + plan.controls.length, command)
  const executor = executorOf(command, host)
  const seeds = Array.from({ length: amounts.processes }, (_, index) => index + 1)
  const environment = environmentOf(host.machine, {
    executor: executor === 'benny' ? `benny@${host.versionOf('benny') ?? ''}` : executor, flags: command.nodeFlags, seeds, orderSeed
  }, host.cwd)
  const { loadBefore, cores } = environment
  return {
    amounts,
    executor,
    seeds,
    environment,
    warnings: [
      ...host.versionOf('benny') === undefined && command.executor === undefined
        ? [`benny is not installed, so the builtin executor takes the samples: ${installCommand(['benny'])}`]
        : [],
      ...loadBefore > cores / 2 ? [`the machine is busy: load ${significant(loadBefore)} on ${cores} cores, figures will be noisy`] : []
    ]
  }
}

function fittedAmounts (cells: number, { amounts, maxTimeMs }: RunCommand): Amounts {
  const fitted = maxTimeMs === undefined ? amounts : fit(cells, amounts, maxTimeMs)
  if (fitted === undefined) {
    throw new RangeError(`--max-time is too short: ${cells} cells need ${formatTime(leastTime(cells, amounts))} at least`)
  }
  return fitted
}

/** benny where it is installed, unless told otherwise. */
function executorOf ({ executor }: RunCommand, host: Host): Sampling['executor'] {
  const isInstalled = host.versionOf('benny') !== undefined
  if (executor === 'benny' && !isInstalled) {
    throw new Error(`--executor benny needs a package that is not installed: ${installCommand(['benny'])}`)
  }
  return executor ?? (isInstalled ? 'benny' : 'builtin')
}
