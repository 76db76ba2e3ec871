/** `npm run bench`: the suites of this folder. */

import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { main } from 'libp2p-behaviours/bench'
import { compiled } from './compiled.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const suites = readdirSync(folder).filter(name => name.endsWith('.bench.ts'))
const args = process.argv.slice(2)
process.exitCode = await main(args, compiled(suites.map(name => `${folder}${name}`), args))
