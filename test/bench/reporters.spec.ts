import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { renderJson } from '../../src/bench/baseline.ts'
import { formatBytes, formatChange, formatDuration, formatP, formatTime, significant } from '../../src/bench/format.ts'
import { parseReport } from '../../src/bench/parse-report.ts'
import { renderBmf } from '../../src/bench/report-bmf.ts'
import { renderCsv } from '../../src/bench/report-csv.ts'
import { renderGha } from '../../src/bench/report-gha.ts'
import { renderMarkdown } from '../../src/bench/report-markdown.ts'
import { renderTable } from '../../src/bench/report-table.ts'
import { invalid } from '../support/json-schema.ts'
import type { Comparison, Measured, Report, Result } from '../../src/bench/index.ts'
import type { Schema } from '../support/json-schema.ts'

const comparison: Comparison = { name: 'main', ratio: 0.897, low: 0.879, high: 0.916, p: 0.0002, q: 0.0004, pairs: 5, verdict: 'improved' }

function measured (params: Measured['params'], more: Partial<Measured> = {}): Measured {
  return {
    id: `poll/${Object.entries(params).map(([axis, value]) => `${axis}=${value}`).join('/')}`,
    params, unit: 'ns', low: 1160, mid: 1180, high: 1190, samples: [1170, 1180, 1190], notes: [],
    rounds: [{ seed: 1, round: 1, order: 0, from: 0, to: 3, repeat: 1000, gcs: 0, switches: 0 }], ...more
  }
}

function reportOf (results: readonly Result[], more: Partial<Report> = {}): Report {
  return {
    schema: 'behaviours-bench/1',
    startedAt: '2026-01-02T03:04:05.678Z',
    durationMs: 1234,
    environment: {
      node: 'v20.0.0', v8: '11', platform: 'linux', arch: 'x64', os: 'Linux 6', cpu: 'Some CPU', cores: 2, memoryBytes: 1e9, package: 'libp2p-behaviours@1',
      executor: 'benny@3.7.1', flags: [], seeds: [1, 2, 3, 4, 5], orderSeed: 7, loadBefore: 0.1, loadAfter: 0.2, commit: 'abc', dirty: false
    },
    options: { processes: 5, rounds: 3, samples: 3, minTimeMs: 50, noise: 0.02, tolerance: 0.05, confidence: 0.95 },
    results,
    claims: [],
    controls: { fixed: { low: 1, mid: 1, high: 1, perProcess: [1, 1, 1, 1, 1] } },
    ...more
  }
}

const failed: Result = {
  id: 'poll/behaviours=5', params: { behaviours: 5, protocols: 10 }, unit: 'ns', error: { stage: 'verify', name: 'Error', message: 'not | done' }
}

const full = reportOf([
  measured({ behaviours: 1, protocols: 100 }, {
    baseline: comparison, perUnit: 11.8, bytesPerIteration: 713, bytesRetained: 42_260, notes: ['drift', 'outliers 1/3']
  }),
  measured({ behaviours: 10, protocols: 1000 }, {
    low: 16_500, mid: 16_800, high: 17_300, baseline: { ...comparison, ratio: 0.999, low: 0.981, high: 1.017, p: 0.87, verdict: 'no change' },
    others: [{ ...comparison, verdict: 'inconclusive' }]
  }),
  failed
], {
  claims: [
    { kind: 'slope', where: { behaviours: 1 }, axis: 'protocols', band: [-0.1, 0.1], value: 0.02, low: -0.01, high: 0.05, r2: 0.4, state: 'held' },
    { kind: 'bytes', where: { behaviours: 1 }, band: [0, 0], value: 713, low: 713, high: 713, state: 'broken' }
  ],
  controls: {
    fixed: { low: 1, mid: 1, high: 1 },
    twin: { ...comparison, ratio: 1.001, low: 0.99, high: 1.012 },
    fixedChange: { ...comparison, ratio: 1.03, low: 1.02, high: 1.04 }
  }
})

const plain = { isBracketed: false, isVerbose: false, paint: (_: string, text: string) => text }

describe('renderTable', () => {
  it('aligns figures on the right, and names what varies', () => {
    expect(renderTable(full, plain).split('\n').slice(0, 5)).toEqual([
      'poll',
      'behaviours | protocols |     low      mid     high | per unit | bytes | retained |           change         |       p |   verdict',
      '         1 |       100 | 1.16 µs  1.18 µs  1.19 µs |  11.8 ns | 713 B |  42.3 kB | -12.1 %  -10.3 %  -8.4 % | < 0.001 |  improved',
      '        10 |      1000 | 16.5 µs  16.8 µs  17.3 µs |          |       |          |  -1.9 %   -0.1 %  +1.7 % |    0.87 | no change',
      '         5 |        10 | failed in verify: Error: not | done'
    ])
  })

  it('ends with claims that do not hold, controls, noise and conditions', () => {
    expect(renderTable(full, plain)).toContain([
      '',
      'claim broken: bytes of behaviours=1 is 713 (713 to 713), claimed 0 to 0',
      'claims: 1 of 2 held',
      'twin: the same code differs by +0.1 % (-1.0 % to +1.2 %)',
      'machine: the fixed body differs by +3.0 % (+2.0 % to +4.0 %)',
      'noise: 2.00 %',
      'v20.0.0, Some CPU, benny@3.7.1, 5 processes, load 0.100 to 0.200, 2 s',
      ''
    ].join('\n'))
  })

  it('has notes and claims that hold when it is verbose, and brackets round verdicts of unlike runs', () => {
    const text = renderTable(full, { ...plain, isVerbose: true, isBracketed: true })
    expect(text).toContain('drift, outliers 1/3')
    expect(text).toContain('claim held: slope over protocols of behaviours=1 is 0.0200 (-0.0100 to 0.0500), claimed -0.1 to 0.1')
    expect(text).toContain('(improved)')
  })

  it('leaves out axes with one value, but for iterations, and figures that nobody has', () => {
    expect(renderTable(reportOf([measured({ size: 1, iterations: 1000 })]), plain)).toMatch(/^poll\niterations \| +low +mid +high\n/)
  })

  it('has the first line of an error only', () => {
    const error = { stage: 'setup', name: 'Error', message: 'Cannot find module\nRequire stack:' } as const
    expect(renderTable(reportOf([{ ...failed, error }]), plain)).toMatch(/failed in setup: Error: Cannot find module\n\n/)
  })

  it('keeps axes apart from figures of the same name', () => {
    expect(renderTable(reportOf([measured({ low: 1 }), measured({ low: 2 })]), plain)).toContain('low |     low      mid     high\n  1 | 1.16 µs')
  })
})

describe('renderCsv', () => {
  it('is RFC 4180, with a column for each axis of any matrix', () => {
    const [head, first, second, third, end] = renderCsv(full).split('\r\n')
    expect(head).toBe('id,behaviours,protocols,unit,low,mid,high,samples,baseline,ratio,ratio_low,ratio_high,p,verdict,bytes_per_iteration,error')
    expect(first).toBe('poll/behaviours=1/protocols=100,1,100,ns,1160,1180,1190,3,main,0.897,0.879,0.916,0.0002,improved,713,')
    expect(second).toContain(',no change,,')
    expect(third).toBe('poll/behaviours=5,5,10,ns,,,,,,,,,,,,verify: Error: not | done')
    expect(end).toBe('')
    expect([head, first, second, third].map(line => line!.split(',').length)).toEqual([16, 16, 16, 16])
  })

  it('quotes hostile names, and disarms formulas', () => {
    const text = renderCsv(reportOf([measured({ a: '=1+1', b: 'x,"y"\r\nz', c: '@cmd', d: -5, e: '-5' })]))
    expect(text).toContain(',\'=1+1,"x,""y""\r\nz",\'@cmd,-5,\'-5,ns,')
  })
})

describe('renderBmf', () => {
  it('has latency with bounds and bytes, without failed cells', () => {
    expect(JSON.parse(renderBmf(full))).toEqual({
      'poll/behaviours=1/protocols=100': { latency: { value: 1180, lower_value: 1160, upper_value: 1190 }, 'allocated-bytes': { value: 713 } },
      'poll/behaviours=10/protocols=1000': { latency: { value: 16_800, lower_value: 16_500, upper_value: 17_300 } }
    })
  })
})

describe('renderGha', () => {
  it('is customSmallerIsBetter, without failed cells', () => {
    expect(JSON.parse(renderGha(full))).toEqual([
      { name: 'poll/behaviours=1/protocols=100', unit: 'ns/iteration', value: 1180, range: '± 15.0', extra: 'n=3' },
      { name: 'poll/behaviours=10/protocols=1000', unit: 'ns/iteration', value: 16_800, range: '± 400', extra: 'n=3' }
    ])
  })
})

describe('renderMarkdown', () => {
  it('has a table for each matrix, and claims as a list', () => {
    const lines = renderMarkdown(full, false).split('\n')
    expect(lines[0]).toBe('### poll')
    expect(lines.filter(line => line.startsWith('|'))).toHaveLength(5)
    expect(lines.filter(line => line.startsWith('- claim'))).toHaveLength(2)
    expect(lines.at(-2)).toBe('v20.0.0, Some CPU, benny@3.7.1, 2026-01-02')
  })

  it('escapes what would break out of a cell', () => {
    const text = renderMarkdown(reportOf([measured({ name: 'a|b' }), measured({ name: '<img src=x>\n`' })]), false)
    expect(text).toContain('a\\|b')
    expect(text).toContain('\\<img src=x\\> \\`')
    const counts = text.split('\n').filter(line => line.startsWith('|')).map(line => line.replaceAll('\\|', '').split('|').length)
    expect(new Set(counts).size).toBe(1)
  })
})

describe('the JSON schema', () => {
  const schema = JSON.parse(readFileSync(new URL('../../src/bench/report.schema.json', import.meta.url), 'utf8')) as Schema

  it('accepts what the runner writes, and unknown keys', () => {
    expect(invalid(JSON.parse(renderJson(full)), schema)).toEqual([])
    expect(invalid({ ...full, later: true }, schema)).toEqual([])
  })

  it.each<[string, object]>([
    ['another schema', { schema: 'behaviours-bench/2' }],
    ['no controls', { controls: {} }],
    ['figures that are none', { results: [{ ...measured({ size: 1 }), mid: null }] }],
    ['a failed cell with figures', { results: [{ ...measured({ size: 1 }), error: { stage: 'run', name: 'E', message: '' } }] }],
    ['a verdict that is none', { results: [measured({ size: 1 }, { baseline: { ...comparison, verdict: 'slower' as never } })] }],
    ['a p-value of 0', { results: [measured({ size: 1 }, { baseline: { ...comparison, p: 0 } })] }],
    ['a param that is an object', { results: [measured({ size: {} as never })] }]
  ])('refuses %s', (_, change) => {
    expect(invalid({ ...full, ...change }, schema)).not.toEqual([])
  })
})

describe('parseReport', () => {
  it('gives back what was written', () => {
    expect(parseReport(renderJson(full), 'x')).toEqual(full)
  })

  it.each<[unknown, string]>([
    [null, 'its schema must be'],
    [{ ...full, results: {} }, 'report.results must be a list'],
    [{ ...full, results: [{ ...measured({ size: 1 }), samples: [1, '2'] }] }, 'results[0].samples[1] must be a number, received string'],
    [{ ...full, results: [failed, { ...failed, error: {} }] }, 'results[1].error.stage must be a string'],
    [{ ...full, results: [{ ...failed, params: { size: [] } }] }, 'results[0].params[0] must be a scalar'],
    [{ ...full, controls: {} }, 'report.controls.fixed.low must be a number']
  ])('refuses %#', (value, message) => {
    expect(() => parseReport(JSON.stringify(value), 'x')).toThrow(message)
  })
})

describe('figures as people read them', () => {
  it.each([[0.256, '0.256 ns'], [1.0, '1.00 ns'], [999.4, '999 ns'], [999.6, '1.00 µs'], [16_840, '16.8 µs'], [434_600, '435 µs'], [3e9, '3.00 s'], [0, '0 ns']])(
    '%d ns are %s', (ns, text) => { expect(formatDuration(ns)).toBe(text) })
  it.each([[1.103, '+10.3 %'], [0.5, '-50.0 %'], [1, '0.0 %'], [0.9999, '0.0 %'], [9.99, '+899.0 %'], [12.14, 'x 12.1'], [0.1, '/ 10.0'], [0.09, '/ 11.1'], [1 / 4065, '/ 4065'], [1 / 9999.6, '/ 10K'], [1.69e6, 'x 1.69M'], [0.11, '-89.0 %'], [0, '-100.0 %']])(
    'a ratio of %d is %s', (ratio, text) => { expect(formatChange(ratio)).toBe(text) })
  it.each([[1e-6, '< 0.001'], [0.0042, '0.004'], [0.87, '0.87'], [1, '1.00']])('p = %d is %s', (p, text) => { expect(formatP(p)).toBe(text) })
  it.each([[1, '1 s'], [35_000, '35 s'], [360_000, '6 min']])('%d ms are %s', (ms, text) => { expect(formatTime(ms)).toBe(text) })
  it.each([[0, '0 B'], [80.8, '80.8 B'], [42_260, '42.3 kB']])('%d bytes are %s', (bytes, text) => { expect(formatBytes(bytes)).toBe(text) })
  it.each([[1e-9, '0.00000000100'], [-0.01, '-0.0100'], [40_650, '40650'], [3e-22, '0.00000000000000000000']])(
    '%d has no exponent: %s', (value, text) => { expect(significant(value)).toBe(text) })
})
