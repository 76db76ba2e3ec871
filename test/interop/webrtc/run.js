// npm run interop:webrtc [-- --short]
// Whole nodes over WebRTC, which brings its own muxer. Where its native part cannot be installed, that is said, and nothing has failed.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../../..', import.meta.url))
const vitest = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url))

/** Runs in this folder, where the packages are. */
function node (code) {
  return spawnSync(process.execPath, ['--import', 'core-js/stable/promise/with-resolvers.js', '--input-type=module', '--eval', code], { cwd: here, encoding: 'utf8' })
}

/** Why it cannot run here, if it cannot. */
function obstacle () {
  const installed = spawnSync('npm', ['ci', '--prefix', here, '--no-audit', '--no-fund'], { encoding: 'utf8' })
  if (installed.status !== 0) {
    return `could not be installed: ${(installed.stderr ?? String(installed.error)).trim().split('\n')[0]}`
  }
  const loaded = node('await import("./transport.js")')
  return loaded.status === 0 ? undefined : `could not be loaded: ${loaded.stderr.split('\n').find((line) => line.includes('Error')) ?? ''}`
}

const reason = obstacle()
if (reason !== undefined) {
  console.log(`interop: skipped, @libp2p/webrtc ${reason}`)
} else {
  const specs = process.argv.includes('--short') ? ['test/interop/webrtc.spec.ts'] : []
  const { status } = spawnSync(process.execPath, [vitest, 'run', '--config', `${here}/vitest.config.js`, ...specs], { cwd: root, stdio: 'inherit' })
  process.exitCode = status ?? 1
}
