import { describe, expect, it } from 'vitest'
import { figures } from '../../benches/readme-figures.ts'
import { sampleReport } from './sample-report.ts'

const report = sampleReport({ behaviours: [1], protocols: [10, 1000], variants: ['identity', 'clone'] })
const README = 'before\n<!-- figures -->\nold\n<!-- /figures -->\nafter\n'

describe('the figures of the README', () => {
  it('are a row for each variant that was compared, from the least to the most over its cells, with machine and date', () => {
    const text = figures(README, report)
    const cells = report.results.filter(result => 'baseline' in result)
    expect(cells).toHaveLength(2)
    expect(text.match(/^\| protocol-diff \|.*$/gm)).toEqual([
      expect.stringMatching(/\| identity \| 2 \| [\d.]+ ns to [\d.]+ ns \| clone \| [\d.]+ to [\d.]+ \|/)
    ])
    expect(text).toContain('2026-11-30, AMD EPYC 9B14 with 2 cores, Node.js v20.20.2, benny@3.7.1, 5 processes of 3 rounds')
  })

  it('have no row for what is only measured beside the library', () => {
    const others = sampleReport({ behaviours: [1], protocols: [10], variants: ['identity', 'reset', 'clone'] })
    expect(figures(README, others).match(/^\| protocol-diff \| (\w+)/gm)).toEqual(['| protocol-diff | identity'])
  })

  it('name a row by its variant, wherever that axis stands', () => {
    const moved = JSON.parse(JSON.stringify(report).replaceAll(/variant=(\w+)/g, 'variant=$1/iterations=200')) as typeof report
    expect(figures(README, moved)).toMatch(/\| protocol-diff \| identity \| 2 \|.*\| clone \|/)
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
