import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { renderHtml } from '../../src/bench/report-html.ts'
import type { Measured, Report, Result } from '../../src/bench/report.ts'
import { descendants, find, parsePage } from './page-parts.ts'
import { sampleReport } from './sample-report.ts'

const against = { variant: sampleReport(), saved: sampleReport({ against: 'saved' }), nothing: sampleReport({ against: 'nothing' }) }
const pages = Object.entries(against).map(([name, report]) => [name, renderHtml(report)] as const)

/** The report with a few cells and every text that a user chooses replaced. */
function withTexts (text: string): Report {
  const report = sampleReport({ behaviours: [1, 5], protocols: [1, 10, 100], against: 'saved', failing: 3 })
  const rename = (result: Result, at: number): Result => {
    const params = { [text]: at % 2 === 0 ? text : 'other', ...result.params }
    const id = `${text}/${at}`
    return 'error' in result
      ? { ...result, id, params, error: { stage: 'run', name: text, message: text } }
      : { ...result, id, params, notes: [text], baseline: { ...result.baseline!, name: text } }
  }
  return {
    ...report,
    environment: {
      ...report.environment,
      cpu: text, os: text, node: text, v8: text, platform: text, arch: text, package: text, executor: text, flags: [text], commit: text
    },
    claims: report.claims.map((claim) => ({ ...claim, where: { [text]: text }, axis: text, to: { [text]: text } })),
    results: report.results.map(rename)
  }
}

describe('renderHtml: a page that needs nothing beside itself', () => {
  it.each(pages)('names no address and loads nothing, compared with %s', (_, html) => {
    expect(html.match(/.{20}(http|url\(|src=|@import|<link|<img|<iframe|<object|<base|<form|javascript:|data:)/g)).toBeNull()
    expect(find(parsePage(html), 'a').every((anchor) => anchor.attributes.get('href')!.startsWith('#'))).toBe(true)
  })

  it('allows its one script by hash and nothing else', () => {
    const page = parsePage(pages[0]![1])
    const scripts = find(page, 'script')
    expect(scripts).toHaveLength(1)
    const hash = createHash('sha256').update(scripts[0]!.text).digest('base64')
    const policy = find(page, 'meta').find((meta) => meta.attributes.get('HTTP-EQUIV') === 'Content-Security-Policy')
    expect(policy!.attributes.get('content'))
      .toBe(`default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`)
    expect(descendants(page).flatMap(({ attributes }) => [...attributes.keys()]).filter((name) => /^on/i.test(name))).toEqual([])
  })

  it('has the same script whatever was measured', () => {
    const scriptOf = (html: string) => find(parsePage(html), 'script').map(({ text }) => text)
    expect(scriptOf(renderHtml(withTexts('</script><script>alert(1)')))).toEqual(scriptOf(pages[0]![1]))
  })

  it.each(pages)('links only to what is there and gives each id once, compared with %s', (_, html) => {
    const page = parsePage(html)
    const ids = descendants(page).flatMap(({ attributes }) => attributes.get('id') ?? [])
    expect(new Set(ids).size).toBe(ids.length)
    const references = descendants(page).flatMap(({ attributes }) => [
      attributes.get('href')?.slice(1), attributes.get('aria-labelledby'), attributes.get('aria-describedby')
    ]).filter((id) => id !== undefined)
    expect(references.filter((id) => !ids.includes(id))).toEqual([])
  })

  it('takes at most 300 kB for 48 cells of 45 samples', () => {
    const report = sampleReport({ behaviours: [1, 5, 10], against: 'saved' })
    expect(report.results).toHaveLength(48)
    expect(Buffer.byteLength(renderHtml(report))).toBeLessThan(300_000)
  })
})

describe('renderHtml: runs under other conditions', () => {
  it('have their verdicts in brackets, and the page says why', () => {
    const [, report] = Object.entries(against)[0]!
    const page = parsePage(renderHtml(report, true))
    expect(find(page, 'body')[0]!.attributes.get('class')).toBe('bracketed')
    expect(renderHtml(report, true)).toContain('Verdicts are in brackets')
    expect(renderHtml(report)).not.toContain('Verdicts are in brackets')
    expect(renderHtml(report)).toContain('.bracketed .cells .verdict::before')
  })
})

describe('renderHtml: texts of users', () => {
  it.each([
    '<script>alert(1)</script>', '</title><h1>', '</style><b>', '"><img onerror=alert(1)>', '\' onfocus=alert(1) \'', '<!-- ', ']]>', '&lt;', '&',
    '</svg><a>', '</desc></text>', '$& $1 `${1}`', '__proto__', 'a\u0000b\u0008', '\u202eevil', '\ud800', '\u2028'
  ])('shows %j as text in every context', (text) => {
    const html = renderHtml(withTexts(text))
    const page = parsePage(html)
    const plain = find(parsePage(renderHtml(withTexts('harmless'))), 'body')[0]!
    const shape = (element: typeof page): string[] => descendants(element).map(({ name }) => name)
    const body = find(page, 'body')[0]!
    expect(shape(body)).toEqual(shape(plain))
    // eslint-disable-next-line no-control-regex -- none of them may be left
    expect(html.match(/[\u0000-\u0008\u202e\u2028\ufeff]|[\ud800-\udfff]/)).toBeNull()
    const shown = text.replace(/[^\p{L}\p{P}\p{S}\p{N} ]/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    expect(body.text.includes(shown)).toBe(true)
  })

  it('keeps letters of any script and characters beyond 16 bits', () => {
    expect(find(parsePage(renderHtml(withTexts('größe 大小 🚀'))), 'body')[0]!.text).toContain('größe 大小 🚀')
  })
})

describe('renderHtml: summary', () => {
  const report = sampleReport({ against: 'saved', failing: 9 })
  const page = parsePage(renderHtml(report))

  it('counts every verdict', () => {
    const tiles = find(find(page, 'ul', 'tiles')[0]!, 'li').map(({ children, attributes }) => [attributes.get('class'), Number(children[0]!.text)])
    const count = (verdict: string) => report.results.filter((result) => !('error' in result) && result.baseline?.verdict === verdict).length
    expect(Object.fromEntries(tiles)).toEqual({
      failed: 1, regressed: count('regressed'), improved: count('improved'), 'no-change': count('no change'), inconclusive: count('inconclusive')
    })
  })

  it('opens with the finding', () => {
    expect(find(page, 'h1')[0]!.text).toMatch(/^1 failed, \d+ regressed, \d+ improved, \d+ inconclusive$/)
    expect(find(parsePage(renderHtml(against.nothing)), 'h1')[0]!.text).toBe('64\u00a0cells measured')
  })

  it('lists claims with state, band and value', () => {
    const rows = find(find(page, 'table', 'claims')[0]!, 'tr').slice(1).map(({ children }) => children.slice(0, 5).map(({ text }) => text))
    expect(rows).toEqual([
      ['slope over protocols: variant identity (R² 0.910)', '✓ held', '−0.1 to 0.1', '0.04', '0.01 to 0.07'],
      ['ratio to variant marks: variant positional', '✕ broken', '0 to 0.25', '0.31', '0.28 to 0.34'],
      ['slope over protocols: variant positional (R² 0.998)', '? open', '0.85 to 1.2', '0.97', '0.81 to 1.13'],
      ['allocated bytes: variant marks', '✓ held', '0\u00a0B', '0\u00a0B', '0\u00a0B']
    ])
  })

  it('shows the controls and their shift', () => {
    const text = find(page, 'dl', 'controls')[0]!.text
    expect(text).toContain('+0.3\u00a0%')
    expect(text).toContain('12.4\u00a0ns')
    expect(text).toContain('+0.6\u00a0%')
  })

  it('says what it was measured on', () => {
    const facts = find(page, 'dl', 'facts').at(-1)!.text
    for (const fact of ['AMD EPYC 9B14', 'v20.20.2', '11.3.244.8', 'libp2p-behaviours@0.1.0', 'benny@3.7.1', '1, 2, 3, 4, 5', '20611', '0.21 before', 'c1a2b06d3f9e']) {
      expect(facts).toContain(fact)
    }
  })
})

describe('renderHtml: table of all cells', () => {
  const report = sampleReport({ against: 'saved', failing: 9 })
  const table = find(parsePage(renderHtml(report)), 'table', 'cells')[0]!

  it('has a row for every cell, in the order of the plan, and needs no script for it', () => {
    const rows = find(find(table, 'tbody')[0]!, 'tr')
    expect(rows.map(({ children }) => children.slice(0, 3).map(({ text }) => text)))
      .toEqual(report.results.map(({ params }) => [params['behaviours'], params['protocols'], params['variant']].map(String)))
  })

  it('has a sort button in every heading, dead until the script wakes it', () => {
    for (const heading of find(find(table, 'thead')[0]!, 'th')) {
      expect(heading.attributes.get('aria-sort')).toBe('none')
      expect(heading.attributes.get('scope')).toBe('col')
      expect(heading.children.map(({ name, attributes }) => [name, attributes.get('type'), attributes.get('disabled')])).toEqual([['button', 'button', '']])
    }
  })

  it('gives every figure of a cell, and a key to sort it by', () => {
    const cell = report.results[0] as Measured
    const row = find(find(table, 'tbody')[0]!, 'tr')[0]!.children
    const headings = find(table, 'th').map(({ text }) => text)
    const shown = (name: string) => row[headings.indexOf(name)]!
    expect(shown('mid').attributes.get('data-key')).toBe(String(Number(cell.mid.toPrecision(6))))
    expect(shown('mid').text).toMatch(/^\d\.\d\d\u00a0ns$/)
    expect(shown('change').text).toMatch(/^[+−]\d+\.\d\u00a0%$/)
    expect(shown('95 % interval').text).toMatch(/ to /)
    expect(shown('verdict').text).toBe('= no change')
  })

  it('says why a cell failed', () => {
    expect(find(table, 'td', 'error').map(({ text }) => text)).toEqual(['✕ failed in verify: Error: verify said false: 999 of 1000 passes'])
  })

  it('leaves axes of one value to a line above', () => {
    expect(find(table, 'th').map(({ text }) => text)).not.toContain('iterations')
    expect(find(parsePage(renderHtml(report)), 'p', 'note').map(({ text }) => text)).toContain('The same in all cells: iterations 1000 · 45\u00a0samples.')
  })
})

describe('renderHtml: unusual reports', () => {
  const one = sampleReport({ behaviours: [1], protocols: [1], variants: ['marks'], against: 'nothing' })
  const cell = one.results[0] as Measured
  const withCell = (changed: Partial<Measured>): Report => ({ ...one, results: [{ ...cell, ...changed }] })
  const change = { name: 'main', ratio: 0.5, low: -0.2, high: 1e9, p: 1, q: 1, pairs: 1, verdict: 'inconclusive' } as const

  it.each<[string, Report]>([
    ['no results', { ...one, results: [] }],
    ['one cell', one],
    ['no axes', withCell({ params: {} })],
    ['an id without axes', withCell({ id: 'x', params: {} })],
    ['only failures', { ...one, results: [{ id: 'a/b=1', params: { b: 1 }, unit: 'ns', error: { stage: 'timeout', name: 'E', message: '' } }] }],
    ['one sample', withCell({ samples: [5], rounds: [{ ...cell.rounds[0]!, from: 0, to: 1 }], low: 5, mid: 5, high: 5 })],
    ['equal samples', withCell({ samples: cell.samples.map(() => 5), low: 5, mid: 5, high: 5 })],
    ['an interval beyond zero', withCell({ baseline: change })],
    ['a comparison with a cell that is gone', withCell({ baseline: { ...change, id: 'gone/x=1' } })],
    ['an axis with zero', { ...one, results: [0, 1, 2, 4].map((k) => ({ ...cell, id: `m/k=${k}`, params: { k } })) }],
    ['booleans', { ...one, results: [true, false].map((k) => ({ ...cell, id: `m/k=${k}`, params: { k } })) }],
    ['claims that are points', { ...one, claims: [{ kind: 'bytes', where: {}, band: [0, 0], value: 0, low: 0, high: 0, state: 'held' }] }]
  ])('draws %s without a number that is none', (_, report) => {
    const html = renderHtml(report)
    expect(() => parsePage(html)).not.toThrow()
    const drawn = html.replace(/<script>[^]*/, '')
    expect(drawn.match(/.{60}(NaN|Infinity|undefined|null)/g)).toBeNull()
  })

  it('keeps matrices apart, each with its own axes', () => {
    const other = sampleReport({ name: 'when-all', behaviours: [1], variants: ['plain'], against: 'nothing' })
    const page = parsePage(renderHtml({ ...one, results: [...one.results, ...other.results] }))
    expect(find(page, 'table', 'cells')).toHaveLength(2)
    expect(find(page, 'h2').map(({ text }) => text)).toEqual(['Summary', 'protocol-diff', 'when-all', 'Run order', 'Environment'])
  })
})
