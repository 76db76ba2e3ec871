import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const script = resolve(import.meta.dirname, '../../.ci/totals.js')
const good = { status: 'passed', assertionResults: [{ status: 'passed' }] }
const bad = {
  name: 'bad.spec.ts', status: 'failed', message: '',
  assertionResults: [{ status: 'passed' }, { status: 'failed', fullName: 'sums add up', failureMessages: ['expected 3 to be 4'] }]
}
const unloadable = { name: 'broken.spec.ts', status: 'failed', message: 'no such module', assertionResults: [] }

describe('the closing line of .ci/run', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'totals-'))
  })

  afterEach(() => {
    rmSync(folder, { recursive: true })
  })

  function report (suite: string, passed: number, failed: number, skipped: number, ...testResults: object[]): void {
    mkdirSync(join(folder, suite), { recursive: true })
    const figures = { numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped, numTodoTests: 0, testResults }
    writeFileSync(join(folder, suite, 'unit.json'), JSON.stringify(figures))
  }

  function lines (failedSteps: number): { code: number | null, output: string[] } {
    const { status, stdout } = spawnSync(process.execPath, [script, folder, String(failedSteps)], { encoding: 'utf8' })
    return { code: status, output: stdout.trimEnd().split('\n') }
  }

  function totals (failedSteps: number): { code: number | null, last: string | undefined } {
    const { code, output } = lines(failedSteps)
    return { code, last: output.at(-1) }
  }

  it('adds up all reports', () => {
    report('tests', 3, 0, 0, good)
    report('integration', 4, 0, 0, good)
    expect(totals(0)).toEqual({ code: 0, last: '7 passed, 0 failed' })
  })

  it('counts skipped tests apart', () => {
    report('tests', 3, 0, 2, good)
    expect(totals(0)).toEqual({ code: 0, last: '3 passed, 0 failed, 2 skipped' })
  })

  it('fails with failed tests, files that could not be loaded and failed steps', () => {
    report('tests', 3, 1, 0, bad)
    report('integration', 3, 0, 0, good, unloadable)
    expect(totals(2)).toEqual({ code: 1, last: '6 passed, 4 failed' })
  })

  it('names what failed', () => {
    report('tests', 1, 1, 0, bad, unloadable)
    expect(lines(0).output).toEqual([
      'failed: sums add up: expected 3 to be 4',
      'failed: broken.spec.ts: no such module',
      'tests/unit: 1 passed, 2 failed, 0 skipped',
      '1 passed, 2 failed'
    ])
  })

  it('fails when no test ran', () => {
    expect(totals(0)).toEqual({ code: 1, last: '0 passed, 0 failed' })
  })
})
