// Node 20 lacks Promise.withResolvers, which js-libp2p calls; applications patch globals, libraries do not.
import 'core-js/stable/promise/with-resolvers.js'
import { basename } from 'node:path'
import { USAGE, UsageError, parseCommand } from './arguments.ts'
import { Printer } from './printer.ts'
import { fetch, share } from './share.ts'
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
    case 'listen':
      return listen(printer, command.port, interrupted())
    case 'share':
      return share(command.file, command.port, interrupted(), (address) => {
        printer.line(`npm start -- fetch ${String(address)} ${JSON.stringify(basename(command.file))} OUT`)
      })
    case 'fetch':
      printer.line(`fetched ${await fetch(command.address, command.name, command.out)} bytes, sha256 checked`)
  }
}

function interrupted (): AbortSignal {
  const controller = new AbortController()
  process.once('SIGINT', () => { controller.abort() })
  process.once('SIGTERM', () => { controller.abort() })
  return controller.signal
}

/** What went wrong, in one line: of an address that cannot be listened on, the host tells the whole stack. */
function reasonOf (error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return /Error: (listen .*)$/m.exec(message)?.[1] ?? message
}

// Whoever read the lines went away, as in `npm start | head`: nobody is left to be told.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => { process.exit(code === 'EPIPE' ? 0 : 1) })

try {
  await run(parseCommand(process.argv.slice(2)), new Printer(process.stdout, process.env))
} catch (error) {
  process.exitCode = error instanceof UsageError ? USAGE_EXIT_CODE : 1
  process.stderr.write(`npm start: ${reasonOf(error)}\n`)
}
