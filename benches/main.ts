/** `npm run bench`: the suites of this folder. */

import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { main } from 'libp2p-behaviours/bench'
import { compiled } from './compiled.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const suites = readdirSync(folder).filter(name => name.endsWith('.bench.ts'))
process.exitCode = await main(process.argv.slice(2), compiled(suites.map(name => `${folder}${name}`)))
