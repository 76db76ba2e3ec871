/**
 * `npm run bench:readme -- RESULT.json` writes the table of the README's performance section from what `npm run bench -- --json`
 * measured, with machine and date. No figure gets there by hand.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { figures } from './readme-figures.ts'
import type { Report } from 'libp2p-behaviours/bench'

const [file] = process.argv.slice(2)
if (file === undefined) {
  console.error('bench:readme: name the file that --json wrote')
  process.exit(2)
}
const readme = new URL('../README.md', import.meta.url)
const report = JSON.parse(readFileSync(file, 'utf8')) as Report
writeFileSync(readme, figures(readFileSync(readme, 'utf8'), report))
