import { seededRandom } from '../core/seeded-random.ts'
import { assemble } from './assemble.ts'
import { baselineFile, loadReport, mismatches, saveReport } from './baseline.ts'
import { estimate } from './budget.ts'
import { loadOfLastMinute } from './environment.ts'
import { checkOutputs } from './outputs.ts'
import { withControls } from './plan.ts'
import { present } from './present.ts'
import { ProgressLine } from './progress.ts'
import { budgetLine } from './report-table.ts'
import { Session } from './session.ts'
import { settle } from './settings.ts'
import type { SavedReport } from './assemble.ts'
import type { Host } from './host.ts'
import type { RunCommand } from './options.ts'
import type { Plan, PlannedCell } from './plan.ts'
import type { CellRecord } from './session.ts'
import type { Settings } from './settings.ts'

/** The matrix that every run has beside its own. */
const CONTROLS = new URL('./controls.js', import.meta.url).href

/** Exit code of a run that Ctrl-C ended. */
const INTERRUPTED = 130

/**
 * Measures the cells, then judges and reports.
 *
 * @returns the exit code
 * @throws Error with one line for the user when the conditions are not met
 */
export async function runCells (cells: readonly PlannedCell[], command: RunCommand, host: Host): Promise<number> {
  checkOutputs(command.outputs, host)
  const orderSeed = command.orderSeed ?? host.drawSeed()
  const random = seededRandom(orderSeed)
  const plan = withControls(cells, await host.describe(CONTROLS), random)
  const settings = settle(plan, command, orderSeed, host)
  const saved = command.baseline === undefined ? undefined : loadReport(host.cwd, command.baseline)
  const isBracketed = saved !== undefined && requireSameConditions(settings, saved, command.isMismatchAllowed)
  const startedAt = host.date()
  const start = host.now()
  const { records, isInterrupted } = await perform(plan, settings, command, random, host)
  const report = assemble(plan, records, {
    startedAt,
    durationMs: Math.round(host.now() - start),
    environment: { ...settings.environment, loadAfter: loadOfLastMinute() },
    options: { ...settings.amounts, noise: command.noise, tolerance: command.tolerance },
    ...(saved === undefined ? {} : { saved })
  })
  const code = await present(report, isBracketed, command, host)
  if (command.saveBaseline !== undefined && !isInterrupted) {
    saveReport(baselineFile(host.cwd, command.saveBaseline), report)
  }
  return isInterrupted ? INTERRUPTED : code
}

/** @returns whether they differ, and that is allowed */
function requireSameConditions ({ environment }: Settings, { name, report }: SavedReport, isAllowed: boolean): boolean {
  const differences = mismatches(environment, report.environment)
  if (differences.length > 0 && !isAllowed) {
    throw new Error(`cannot compare with ${name}: ${differences.join('; ')} (--allow-mismatch compares all the same)`)
  }
  return differences.length > 0
}

interface Performed {
  readonly records: readonly CellRecord[]
  readonly isInterrupted: boolean
}

async function perform (plan: Plan, settings: Settings, command: RunCommand, random: () => number, host: Host): Promise<Performed> {
  const { amounts, executor, seeds, warnings } = settings
  const cells = [...plan.cells, ...plan.controls]
  const estimateMs = estimate(cells.length, amounts)
  host.stderr.write([...warnings, budgetLine(cells.length, amounts, estimateMs)].map(line => `${line}\n`).join(''))
  const progress = new ProgressLine(host)
  const { nodeFlags, cellTimeoutMs, isMemoryMeasured } = command
  const session = new Session(
    cells,
    { seeds, rounds: amounts.rounds, sampling: { ...amounts, executor }, isMemoryMeasured, random },
    seed => host.startLane(seed, { nodeFlags, cellTimeoutMs }),
    (state) => { progress.show(state, estimateMs) }
  )
  const forget = host.onInterrupt(() => { session.interrupt() })
  const records = await session.run()
  forget()
  progress.end()
  return { records, isInterrupted: session.isInterrupted }
}
