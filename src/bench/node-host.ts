import { describeFile } from './isolate.ts'
import { versionOf } from './packages.ts'
import { forkLane } from './process.ts'
import type { Host, Output } from './host.ts'

/** Node.js, as a runner needs it. */
export function nodeHost (): Host {
  return {
    cwd: process.cwd(),
    stdout: outputTo(process.stdout),
    stderr: outputTo(process.stderr),
    machine: {
      node: process.version,
      v8: process.versions.v8,
      platform: process.platform,
      arch: process.arch,
      readsTypeScript: 'typescript' in process.features && process.features.typescript !== false
    },
    now: () => performance.now(),
    date: () => new Date().toISOString(),
    drawSeed: () => Math.floor(Math.random() * 2 ** 32),
    onInterrupt (act) {
      process.on('SIGINT', act)
      return () => { process.off('SIGINT', act) }
    },
    versionOf,
    describe: async file => describeFile(new URL('./worker.js', import.meta.url), file),
    startLane: (seed, options) => forkLane(new URL('./child.js', import.meta.url), seed, options)
  }
}

function outputTo (stream: NodeJS.WriteStream): Output {
  return {
    isTerminal: stream.isTTY,
    hasColour: stream.isTTY && (process.env['NO_COLOR'] ?? '') === '',
    write (text) { stream.write(text) }
  }
}
