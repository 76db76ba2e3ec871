import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const TIMEOUT_MS = 180_000

/** What the README tells to set where `skipLibCheck` is off. */
const COMPILER_OPTIONS = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  target: 'ES2022',
  module: 'NodeNext',
  skipLibCheck: false,
  lib: ['ES2024', 'DOM', 'DOM.Iterable'],
  types: ['node']
}

describe('a project that has installed the package', { timeout: TIMEOUT_MS }, () => {
  let project: string

  beforeAll(() => {
    project = mkdtempSync(join(tmpdir(), 'outside-'))
    execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', project], { cwd: root, stdio: 'ignore' })
    const [tarball = ''] = readdirSync(project)
    const modules = join(project, 'node_modules')
    mkdirSync(join(modules, 'libp2p-behaviours'), { recursive: true })
    execFileSync('tar', ['-xzf', join(project, tarball), '--strip-components=1', '-C', join(modules, 'libp2p-behaviours')])
    for (const name of readdirSync(join(root, 'node_modules'))) {
      symlinkSync(join(root, 'node_modules', name), join(modules, name))
    }
    cpSync(join(import.meta.dirname, 'outside'), project, { recursive: true })
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  }, TIMEOUT_MS)

  afterAll(() => { rmSync(project, { recursive: true }) })

  /** What the compiler says, file by file. */
  function check (options: object, ...files: string[]): string[] {
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...COMPILER_OPTIONS, ...options }, files }))
    try {
      execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', '.', '--pretty', 'false'], { cwd: project, encoding: 'utf8' })
      return []
    } catch (error) {
      return (error as { stdout: string }).stdout.trimEnd().split('\n')
    }
  }

  it('gets all types inferred, with the declarations of every package checked', () => {
    expect(check({}, 'consumer.ts')).toEqual([])
  })

  it('gets them without those of Node and of the newest language, where only what is its own is checked', () => {
    expect(check({ skipLibCheck: true, lib: ['ES2022', 'DOM', 'DOM.Iterable'], types: [] }, 'consumer.ts')).toEqual([])
  })

  it('is told of a mistake', () => {
    writeFileSync(join(project, 'mistake.ts'), 'import { ping } from "libp2p-behaviours/ping"\nping({ interval: 10 })\n')
    expect(check({ skipLibCheck: true }, 'mistake.ts')).toEqual([expect.stringMatching(/^mistake\.ts\(2,8\): error TS2561/)])
  })

  it('is told last where the types of a codec disagree, not that there should be none', () => {
    writeFileSync(join(project, 'codec.ts'), `
      import { requestResponse } from 'libp2p-behaviours/request-response'
      requestResponse({
        protocols: '/sum/1.0.0',
        codec: {
          encodeRequest: (term: number) => Uint8Array.of(term),
          decodeRequest: (bytes: Uint8Array) => String(bytes),
          encodeResponse: (sum: string) => new TextEncoder().encode(sum),
          decodeResponse: (bytes: Uint8Array) => new TextDecoder().decode(bytes)
        }
      })
    `)
    const told = check({ skipLibCheck: true }, 'codec.ts')
    expect(told.filter((line) => !line.startsWith(' '))).toEqual([expect.stringMatching(/^codec\.ts\(3,7\): error TS2769/)])
    expect(told.at(-1)?.trim()).toBe('Type \'string\' is not assignable to type \'number\'.')
  })
})
