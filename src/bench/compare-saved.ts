import { reassemble } from './assemble.ts'
import { loadReport, mismatches } from './baseline.ts'
import { checkOutputs } from './outputs.ts'
import { present } from './present.ts'
import type { Host } from './host.ts'
import type { CompareCommand } from './options.ts'

/**
 * Tables of saved results against the first of them; nothing runs.
 *
 * @returns the exit code
 * @throws Error with one line for the user when one is missing, or they cannot be compared
 */
export async function compareSaved (command: CompareCommand, host: Host): Promise<number> {
  checkOutputs(command.outputs, host)
  const base = loadReport(host.cwd, command.base)
  const others = command.others.map(name => loadReport(host.cwd, name))
  let code = 0
  for (const { name, report } of others) {
    const differences = mismatches(report.environment, base.report.environment)
    if (differences.length > 0 && !command.isMismatchAllowed) {
      throw new Error(`cannot compare ${name} with ${base.name}: ${differences.join('; ')} (--allow-mismatch compares all the same)`)
    }
    host.stderr.write(`${name} against ${base.name}\n`)
    code = Math.max(code, await present(reassemble(report, base, command), differences.length > 0, command, host))
  }
  return code
}
