import { baselineNames } from './baseline.ts'
import { checkCells } from './check.ts'
import { compareSaved } from './compare-saved.ts'
import { packageName } from './environment.ts'
import { gatherCells } from './files.ts'
import { HELP } from './help.ts'
import { parseCommand } from './options.ts'
import { runCells } from './run.ts'
import type { Host } from './host.ts'
import type { RunCommand } from './options.ts'

/** Exit code for a command that cannot be carried out. */
const REFUSED = 2

/**
 * Carries out a command line.
 *
 * @param files - bench files when the command line names none
 * @returns the exit code: 0 passed, 1 a cell failed or `--fail-on` holds, 2 usage or conditions, 130 interrupted
 */
export async function runCommand (argv: readonly string[], files: readonly string[], host: Host): Promise<number> {
  try {
    return await dispatch(argv, files, host)
  } catch (error) {
    host.stderr.write(`behaviours-bench: ${error instanceof Error ? error.message : String(error)}\n`)
    return REFUSED
  }
}

async function dispatch (argv: readonly string[], files: readonly string[], host: Host): Promise<number> {
  const command = parseCommand(argv)
  switch (command.type) {
    case 'help':
      host.stdout.write(HELP)
      return 0
    case 'version':
      host.stdout.write(`${packageName()}\n`)
      return 0
    case 'list-baselines':
      host.stdout.write(baselineNames(host.cwd).map(name => `${name}\n`).join(''))
      return 0
    case 'compare':
      return compareSaved(command, host)
    case 'list':
    case 'check':
    case 'run':
      return runFiles(command, command.files.length === 0 ? files : command.files, host)
  }
}

async function runFiles (command: RunCommand, files: readonly string[], host: Host): Promise<number> {
  const cells = await gatherCells(command, files, host)
  switch (command.type) {
    case 'list':
      host.stdout.write(cells.map(({ id }) => `${id}\n`).join(''))
      return 0
    case 'check':
      return checkCells(cells, command, host)
    case 'run':
      return runCells(cells, command, host)
  }
}
