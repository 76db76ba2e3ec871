/**
 * `npm run bench`: the suites of this folder, compiled once. Every isolate would compile them again, which takes longer than a
 * quick measurement.
 */

import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { main } from 'libp2p-behaviours/bench'

const folder = fileURLToPath(new URL('.', import.meta.url))
/** Inside of the package, whose name the suites import. */
const compiled = fileURLToPath(new URL('../.bench/suites/', import.meta.url))

const suites = readdirSync(folder).filter(name => name.endsWith('.bench.ts'))
buildSync({
  entryPoints: suites.map(name => `${folder}${name}`),
  outdir: compiled,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // A suite may import a file for what it does.
  ignoreAnnotations: true,
  logLevel: 'warning'
})
process.exitCode = await main(process.argv.slice(2), suites.map(name => `${compiled}${name.replace(/ts$/, 'js')}`))
