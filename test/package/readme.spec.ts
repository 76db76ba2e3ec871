import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CONNECTION_OPTIONS } from '../../src/connection/connection-config.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..', '..')
/** Inside the package, so that its own name leads to it; ignored by git. */
const SCRATCH = join(ROOT, '.readme')
const POLYFILL = 'core-js/stable/promise/with-resolvers.js'
const TIMEOUT_MS = 60_000

/** What each example prints, in the order of the README. */
const PRINTS = [
  /Uint8Array\(4\) \[ 1, 2, 1, 2 \] \d/,
  /^chat 12D3KooW\w+ hello$/m,
  /^\[ \{ type: 'handler-event', event: 1 \} \]$/m,
  /^\[ \[ '\/note\/1\.0\.0' \] \]\n1 false$/m,
  /^a stream of 12D3KooW\w+\nHELLO$/m,
  /added \[ '\/files\/1\.0\.0' \] removed \[\][^]*\[[^\]]*'\/files\/1\.0\.0'[^\]]*\] false/,
  /^door pending 1\nDialFailureError$/m,
  /^1\nlimits per-peer 1\n(?=[^]*^aborted PeerBlockedError: .* is blocked$)(?=[^]*^access\.blocked PeerBlockedError$)/m,
  /^connection-idle\nclosed$/m,
  /^\[ '\/chat\/1\.0\.0', '\/chat\/1\.0\.0' \]$/m,
  /^\/chat\/1\.0\.0 hello\nok$/m,
  // A bench file says nothing by itself.
  /^$/
]

const readme = await readFile(join(ROOT, 'README.md'), 'utf8')
const examples = [...readme.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code = '']) => code)

const TSCONFIG = {
  extends: '../tsconfig.json',
  compilerOptions: { rootDir: '..', noEmit: true, declaration: false, declarationMap: false, isolatedDeclarations: false, moduleDetection: 'force' },
  include: ['./*.ts']
}

describe('the examples of the README', () => {
  beforeAll(async () => {
    await rm(SCRATCH, { recursive: true, force: true })
    await mkdir(SCRATCH, { recursive: true })
    await writeFile(join(SCRATCH, 'tsconfig.json'), JSON.stringify(TSCONFIG))
    await Promise.all(examples.flatMap((code, at) => [
      writeFile(join(SCRATCH, `example-${at}.ts`), code),
      writeFile(join(SCRATCH, `example-${at}.js`), ts.transpile(code, { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 }))
    ]))
  })

  afterAll(async () => {
    await rm(SCRATCH, { recursive: true, force: true })
  })

  it('are as many as are checked here', () => {
    expect(examples).toHaveLength(PRINTS.length)
  })

  it('compile', { timeout: TIMEOUT_MS }, async () => {
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
    const output = await run(process.execPath, [compiler, '-p', SCRATCH], { cwd: ROOT }).then(({ stdout }) => stdout, (error: unknown) => (error as { stdout: string }).stdout)
    expect(output).toBe('')
  })

  it.each(examples.map((_, at) => at))('run as pasted: example %i', { timeout: TIMEOUT_MS }, async at => {
    const { stdout, stderr } = await run(process.execPath, ['--import', POLYFILL, join(SCRATCH, `example-${at}.js`)], { cwd: ROOT, timeout: TIMEOUT_MS })
    expect(stderr).toBe('')
    expect(stdout).toMatch(PRINTS[at] ?? /^never$/)
  })
})

describe('the table of limits in the README', () => {
  const [table = ''] = /<!-- limits:begin -->([^]*?)<!-- limits:end -->/.exec(readme) ?? []
  const rows = new Map([...table.matchAll(/^\| `(\w+)` \| (.*?) \|/gm)].map(([, option = '', text = '']) => [option, text]))

  it.each(Object.entries(CONNECTION_OPTIONS))('has %s with its default', (option, spec) => {
    expect(rows.get(option)).toContain(spec.initial.toLocaleString('en').replaceAll(',', Number(spec.initial) < 10_000 ? '' : ' ').replace('∞', 'Infinity'))
  })
})
