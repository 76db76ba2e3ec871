// npm run interop [-- --short]
// Our node and light clients of another make. Where npm cannot install them, that is said, and nothing has failed.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const vitest = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url))

const installed = spawnSync('npm', ['ci', '--prefix', here, '--no-audit', '--no-fund'], { encoding: 'utf8' })
if (installed.status !== 0) {
  console.log(`interop: skipped, smoldot could not be installed: ${(installed.stderr ?? String(installed.error)).trim().split('\n')[0]}`)
} else {
  const env = { ...process.env, ...process.argv.includes('--short') ? { INTEROP_SHORT: '1' } : {} }
  const { status } = spawnSync(process.execPath, [vitest, 'run', '--root', here], { env, stdio: 'inherit' })
  process.exitCode = status ?? 1
}
