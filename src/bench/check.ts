import { Session } from './session.ts'
import type { Host } from './host.ts'
import type { RunCommand } from './options.ts'
import type { PlannedCell } from './plan.ts'

/**
 * Runs every cell once, untimed, and has it prove its work.
 *
 * @returns the exit code
 */
export async function checkCells (cells: readonly PlannedCell[], { nodeFlags, cellTimeoutMs }: RunCommand, host: Host): Promise<number> {
  const session = new Session(
    cells,
    { seeds: [1], rounds: 1, isMemoryMeasured: false, random: () => 0 },
    seed => host.startLane(seed, { nodeFlags, cellTimeoutMs }),
    () => {}
  )
  const forget = host.onInterrupt(() => { session.interrupt() })
  const records = await session.run()
  forget()
  const failed = records.filter(({ failure }) => failure !== undefined)
  for (const { cell, failure } of failed) {
    host.stdout.write(`${cell.id} failed in ${failure?.stage}: ${failure?.name}: ${failure?.message}\n`)
  }
  host.stdout.write(`${cells.length - failed.length} of ${cells.length} cells did their work\n`)
  return session.isInterrupted ? 130 : failed.length > 0 ? 1 : 0
}
