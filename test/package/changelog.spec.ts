import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')

const { version } = JSON.parse(read('package.json')) as { version: string }
const headings = [...read('CHANGELOG.md').matchAll(/^## (.*)$/gm)].map(([, heading]) => heading!)
const versions = headings.map((heading) => heading.split(' ')[0]!)

function isNewer (left: string, right: string): boolean {
  const [a, b] = [left, right].map((text) => text.split('.').map(Number)) as [number[], number[]]
  const at = a.findIndex((part, index) => part !== b[index])
  return at !== -1 && a[at]! > b[at]!
}

describe('CHANGELOG.md', () => {
  it('starts with the version of package.json', () => {
    expect(versions[0]).toBe(version)
  })

  it('gives each version as "## 0.2.0 (2026-12-01)"; only the newest may be unreleased', () => {
    for (const heading of headings.slice(1)) {
      expect(heading).toMatch(/^\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)$/)
    }
    expect(headings[0]).toMatch(/^\d+\.\d+\.\d+ \((\d{4}-\d\d-\d\d|unreleased)\)$/)
  })

  it('has the newest version first', () => {
    for (const [at, older] of versions.slice(1).entries()) {
      expect(isNewer(versions[at]!, older), `${versions[at]!} before ${older}`).toBe(true)
    }
  })

  it('says something about each version', () => {
    for (const section of read('CHANGELOG.md').split(/^## .*$/m).slice(1)) {
      expect(section.trim()).not.toBe('')
    }
  })
})
