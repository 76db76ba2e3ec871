import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const { exports } = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as {
  exports: Record<string, string | Record<string, string>>
}

describe('the packed package', { timeout: 60_000 }, () => {
  let files: string[]

  beforeAll(() => {
    const listing = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    const [packed] = JSON.parse(listing) as [{ files: Array<{ path: string }> }]
    files = packed.files.map(({ path }) => path)
  }, 60_000)

  it('holds every file that the exports map names', () => {
    const named = Object.values(exports).flatMap((target) => typeof target === 'string' ? [target] : Object.values(target))
    expect(files).toEqual(expect.arrayContaining(named.map((path) => path.replace('./', ''))))
  })

  it('holds the licence, the changelog, and the sources for the source maps', () => {
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'CHANGELOG.md', 'README.md', 'src/index.ts', 'dist/index.js.map']))
  })

  it('holds neither the demo nor tests, benches and settings', () => {
    expect(files.filter((path) => !/^(src|dist)\/(?!demo\/)|^(package\.json|README\.md|CHANGELOG\.md|LICENSE)$/.test(path))).toEqual([])
  })
})

describe.each(['package-lock.json', 'test/compliance/package-lock.json', 'test/interop/smoldot/package-lock.json', 'test/interop/webrtc/package-lock.json'])('%s', (file) => {
  it('names no registry host', () => {
    expect(readFileSync(resolve(root, file), 'utf8')).not.toMatch(/"resolved": "https?:/)
  })
})
