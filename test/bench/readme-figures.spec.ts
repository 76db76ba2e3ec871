import { describe, expect, it } from 'vitest'
import { figures } from '../../benches/readme-figures.ts'
import { sampleReport } from './sample-report.ts'

const report = sampleReport({ behaviours: [1], protocols: [10, 1000], variants: ['identity', 'clone'] })
const README = 'before\n<!-- figures -->\nold\n<!-- /figures -->\nafter\n'

describe('the figures of the README', () => {
  it('are a row for each cell that was compared, with machine and date', () => {
    const text = figures(README, report)
    const compared = report.results.filter(result => 'baseline' in result)
    expect(text.split('\n').filter(line => line.startsWith('| protocol-diff'))).toHaveLength(compared.length)
    expect(text).toMatch(/\| protocol-diff [^|]*protocols=1000[^|]*variant=identity \| [\d.]+ [nµm]s \| clone \| [\d.]+ to [\d.]+ \|/)
    expect(text).toContain('2026-11-30, AMD EPYC 9B14 with 2 cores, Node.js v20.20.2, benny@3.7.1, 5 processes of 3 rounds')
  })

  it('take the place of older ones, and leave the rest alone', () => {
    const once = figures(README, report)
    expect(once).not.toContain('old')
    expect(once.startsWith('before\n') && once.endsWith('\nafter\n')).toBe(true)
    expect(figures(once, report)).toBe(once)
    expect(figures('a\n<!-- figures -->\nb\n', report)).toMatch(/<!-- \/figures -->\nb\n$/)
  })

  it('need the mark, and something that was compared', () => {
    expect(() => figures('no mark', report)).toThrow('the README needs the mark')
    expect(() => figures(README, sampleReport({ against: 'nothing' }))).toThrow('the report a comparison')
  })
})
