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
}

/**
 * Settles how to run, and tells what the user should know of it.
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
  if (environment.loadBefore > environment.cores / 2) {
    host.stderr.write(`the machine is busy: load ${significant(environment.loadBefore)} on ${environment.cores} cores, figures will be noisy\n`)
  }
  return { amounts, executor, seeds, environment }
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
  if (executor === undefined && !isInstalled) {
    host.stderr.write(`benny is not installed, so the builtin executor takes the samples: ${installCommand(['benny'])}\n`)
  }
  return executor ?? (isInstalled ? 'benny' : 'builtin')
}
