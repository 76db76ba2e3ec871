// Node 20 lacks Promise.withResolvers, which js-libp2p calls; applications patch globals, libraries do not.
import 'core-js/stable/promise/with-resolvers.js'
import { USAGE, UsageError, parseCommand } from './arguments.ts'
import { Printer } from './printer.ts'
import { listen, runDemo, visit } from './stories.ts'
import type { Command } from './arguments.ts'

/** Exit code for arguments that make no sense. */
const USAGE_EXIT_CODE = 2

async function run (command: Command, printer: Printer): Promise<void> {
  switch (command.type) {
    case 'help':
      printer.line(USAGE)
      return
    case 'demo':
      return runDemo(printer)
    case 'dial':
      return visit(printer, command.address)
    case 'listen': {
      const interrupted = new AbortController()
      process.once('SIGINT', () => { interrupted.abort() })
      process.once('SIGTERM', () => { interrupted.abort() })
      return listen(printer, command.port, interrupted.signal)
    }
  }
}

try {
  await run(parseCommand(process.argv.slice(2)), new Printer(process.stdout, process.env))
} catch (error) {
  process.exitCode = error instanceof UsageError ? USAGE_EXIT_CODE : 1
  process.stderr.write(`npm start: ${error instanceof Error ? error.message : String(error)}\n`)
}
