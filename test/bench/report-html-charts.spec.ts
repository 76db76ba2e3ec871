import { describe, expect, it } from 'vitest'
import { cellsOf } from '../../src/bench/axes.ts'
import type { Axes } from '../../src/bench/axes.ts'
import { changeScale } from '../../src/bench/charts/change-scale.ts'
import { densityOf } from '../../src/bench/charts/density.ts'
import { spreadLabels } from '../../src/bench/charts/labels.ts'
import { DARK, LIGHT, contrast } from '../../src/bench/charts/palette.ts'
import { suitesOf } from '../../src/bench/charts/suite.ts'
import { counted, showChange, showDuration, showNumber, showRoundChange, showRoundTime, showShare, showTime } from '../../src/bench/html/figures.ts'
import { styleSheet } from '../../src/bench/html/style.ts'
import { renderHtml } from '../../src/bench/report-html.ts'
import type { Change, Measured, Report } from '../../src/bench/report.ts'
import { descendants, find, parsePage } from './page-parts.ts'
import type { Element } from './page-parts.ts'
import { sampleReport } from './sample-report.ts'

const saved = sampleReport({ against: 'saved' })
const page = parsePage(renderHtml(saved))

/** Figures of one kind of chart. */
function figures (of: Element, kind: string): Element[] {
  return find(of, 'div', kind).filter(({ attributes }) => attributes.get('class')!.includes('grid')).flatMap((grid) => grid.children.filter(({ name }) => name === 'figure'))
}

function cellOf (report: Report, behaviours: number, protocols: number, variant: string): Measured {
  return report.results.find(({ params }) => params['behaviours'] === behaviours && params['protocols'] === protocols && params['variant'] === variant) as Measured
}

describe('every chart', () => {
  const pictures = find(page, 'svg').filter(({ attributes }) => attributes.get('aria-hidden') === undefined)

  it('is one picture with a title and a description', () => {
    expect(pictures.length).toBeGreaterThan(60)
    for (const { attributes, children: [title, description] } of pictures) {
      expect([attributes.get('role'), title!.name, description!.name]).toEqual(['img', 'title', 'desc'])
      expect(attributes.get('aria-labelledby')).toBe(title!.attributes.get('id'))
      expect(attributes.get('aria-describedby')).toBe(description!.attributes.get('id'))
      expect(title!.text).not.toBe('')
      expect(description!.text).not.toBe('')
    }
  })

  it('has its figures in a table beside it', () => {
    const charts = [...figures(page, 'heat'), ...figures(page, 'lines'), ...figures(page, 'forest'), ...find(page, 'figure', 'wide'), ...find(page, 'details', 'group')]
    expect(charts.length).toBe(4 + 4 + 4 + 1 + 4)
    for (const chart of charts) {
      expect(find(chart, 'details', 'data')).toHaveLength(1)
      expect(find(find(chart, 'details', 'data')[0]!, 'td').length).toBeGreaterThan(0)
    }
  })
})

describe('heat maps', () => {
  it('are one for each combination that is left beside behaviours and protocols', () => {
    expect(figures(page, 'heat').map(({ children }) => children[0]!.text)).toEqual(['variant identity', 'variant positional', 'variant marks', 'variant clone'])
    const more = sampleReport({ against: 'nothing' })
    const twice = { ...more, results: [1, 2].flatMap((build) => more.results.map((result) => ({ ...result, params: { ...result.params, build } }))) }
    expect(figures(parsePage(renderHtml(twice)), 'heat')).toHaveLength(8)
  })

  it('write value and change into each cell', () => {
    const cells = find(figures(page, 'heat')[1]!, 'g', 'cell')
    expect(cells).toHaveLength(16)
    const { mid, baseline } = cellOf(saved, 1, 100, 'positional')
    expect(cells[2]!.text).toContain(showTime(mid))
    expect(cells[2]!.text).toContain(showChange(baseline!.ratio))
  })

  it('outline and sign what changed, and nothing else', () => {
    const cells = find(page, 'g', 'cell').filter(({ children }) => children.some(({ name }) => name === 'text'))
    const marked = cells.filter(({ attributes }) => attributes.get('class')!.includes('marked'))
    const changed = saved.results.filter((result) => 'baseline' in result && /improved|regressed/.test(result.baseline.verdict))
    expect(marked).toHaveLength(changed.length)
    expect(marked.every(({ text }) => /[▲▼]/.test(text))).toBe(true)
    expect(cells.filter((cell) => !marked.includes(cell)).some(({ text }) => /[▲▼]/.test(text))).toBe(false)
  })

  it('have a hue by the log ratio, clamped at four times, and none inside of the noise', () => {
    const shadeOf = (ratio: number): string => {
      const cell = saved.results[0] as Measured
      const results = [1, 2].map((protocols) => ({ ...cell, id: `m/${protocols}`, params: { protocols, behaviours: 1 }, baseline: { ...cell.baseline!, ratio } }))
      return find(figures(parsePage(renderHtml({ ...saved, results })), 'heat')[0]!, 'g', 'cell')[0]!.attributes.get('class')!.replace(/cell | marked/g, '')
    }
    expect([1 / 9, 0.25, 0.5, 0.9, 0.985, 1, 1.015, 1.1, 2, 4, 9].map(shadeOf)).toEqual(
      ['0', '0', '4', '9', '12', '12', '12', '15', '20', '24', '24'].map((step) => `change-${step}`))
  })

  it('show cost by colour where nothing is compared', () => {
    const shades = find(figures(parsePage(renderHtml(sampleReport({ against: 'nothing' }))), 'heat')[3]!, 'g', 'cell')
      .map(({ attributes }) => Number(/cost-(\d+)/.exec(attributes.get('class')!)![1]))
    expect(shades.at(-1)).toBe(14)
    expect(shades.slice(0, 4)).toEqual([...shades.slice(0, 4)].sort((a, b) => a - b))
  })

  it('tell cells that failed from cells that were left out', () => {
    const report = sampleReport({ against: 'nothing', failing: 0 })
    const cells = find(figures(parsePage(renderHtml({ ...report, results: report.results.filter((_, at) => at !== 4) })), 'heat')[0]!, 'g', 'cell')
    expect(cells.slice(0, 2).map(({ text }) => text)).toEqual(['✕ failed', '–'])
  })
})

describe('colours', () => {
  const swatches = [LIGHT, DARK].flatMap(({ changes, costs }) => [...changes, ...costs])

  it('have an ink of 4.5 to 1 on each step', () => {
    expect(Math.min(...swatches.map(({ fill, ink }) => contrast(fill, ink)))).toBeGreaterThanOrEqual(4.5)
  })

  it('have an ink of 4.5 to 1 on the page and its surfaces, light and dark', () => {
    const [light, dark] = styleSheet().split('@media screen').map((part) => new Map([...part.slice(0, part.indexOf('}')).matchAll(/--([a-z]+\d?):(#[0-9a-f]{3,6})/g)].map(([, name, colour]) => [name!, colour!])))
    for (const scheme of [light!, dark!]) {
      const inks = [...scheme].filter(([name]) => /^(ink|soft|improved|regressed|unsure|failed|held|focus|s\d)$/.test(name))
      expect(inks).toHaveLength(16)
      const worst = inks.flatMap(([name, ink]) => ['page', 'surface', 'faint'].map((ground) => ({ name, ground, ratio: contrast(ink, scheme.get(ground)!) })))
      expect(worst.filter(({ ratio }) => ratio < 4.5)).toEqual([])
    }
  })

  it('know the contrast of black and white', () => {
    expect(contrast('#000', '#fff')).toBe(21)
    expect(contrast('#777777', '#fff')).toBeCloseTo(4.48, 2)
  })
})

describe('cost over protocols', () => {
  const exact = sampleReport({ against: 'nothing' })
  const results = exact.results.map((result) => {
    const mid = 3 * Number(result.params['protocols']) ** (result.params['variant'] === 'identity' ? 0 : 1.25)
    return { ...result as Measured, low: mid * 0.9, mid, high: mid * 1.1 }
  })
  const [panel] = figures(parsePage(renderHtml({ ...exact, results })), 'lines')

  it('is a line for each variant with its slope', () => {
    expect(find(panel!, 'text', 'name').map(({ text }) => text)).toEqual(['identity n0.00', 'positional n1.25', 'marks n1.25', 'clone n1.25'])
  })

  it('has log axes: equal factors are equal distances', () => {
    const points = [...find(panel!, 'path', 'line')[3]!.attributes.get('d')!.matchAll(/([\d.]+),([\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const)
    const steps = points.slice(1).map(([x, y], at) => [x - points[at]![0], y - points[at]![1]] as const)
    for (const [x, y] of steps) {
      expect(x).toBeCloseTo(steps[0]![0], 0)
      expect(y).toBeCloseTo(steps[0]![1], 0)
    }
  })

  it('has a band from low to high', () => {
    expect(find(panel!, 'path', 'band')).toHaveLength(4)
    expect(find(panel!, 'path', 'band')[0]!.attributes.get('d')).toMatch(/^M.*Z$/)
  })

  it('gives no slope for two points', () => {
    const two = parsePage(renderHtml({ ...exact, results: results.filter(({ params }) => Number(params['protocols']) <= 10) }))
    expect(find(figures(two, 'lines')[0]!, 'text', 'name').map(({ text }) => text)).toEqual(['identity', 'positional', 'marks', 'clone'])
  })
})

describe('distributions', () => {
  const withSamples = (count: number): Element => {
    const cell = saved.results[0] as Measured
    const samples = cell.samples.slice(0, count)
    const report = { ...saved, results: [{ ...cell, samples, rounds: [{ ...cell.rounds[0]!, from: 0, to: count }] }] }
    return figures(parsePage(renderHtml(report)), 'panels')[0]!
  }

  it('are violins from 15 samples on, below that dots only', () => {
    expect(find(withSamples(15), 'path', 'violin')).toHaveLength(1)
    expect(find(withSamples(14), 'path', 'violin')).toHaveLength(0)
  })

  it('show every sample in run order and beside the interval', () => {
    const strips = find(withSamples(14), 'path', 'dots').map(({ attributes }) => attributes.get('d')!.match(/M/g)!.length)
    expect(strips).toEqual([14, 14])
    expect(find(withSamples(14), 'path', 'interval')).toHaveLength(1)
  })

  it('have their peak where most samples are, wherever that is', () => {
    const samples = Array.from({ length: 40 }, (_, at) => 100 * Math.exp(0.001 * (at % 8) ** 2))
    const peakOf = (values: readonly number[]) => densityOf(values)!.find(({ density }) => density === 1)!.at
    expect(peakOf(samples)).toBeGreaterThan(100)
    expect(peakOf(samples)).toBeLessThan(101)
    expect(peakOf(samples.map((sample) => sample * 7))).toBeCloseTo(peakOf(samples) * 7, 6)
    expect(peakOf([...samples].reverse())).toBeCloseTo(peakOf(samples), 9)
  })

  it('have no outline for samples that are all the same', () => {
    expect(densityOf(Array.from({ length: 20 }, () => 3))).toBeUndefined()
  })
})

describe('run order', () => {
  it('has a dot for each round of each cell and a stretch for each process', () => {
    const figure = find(page, 'figure', 'wide')[0]!
    const drawn = find(figure, 'path', 'dots').map(({ attributes }) => attributes.get('d')!.match(/M/g)!.length).reduce((sum, count) => sum + count, 0)
    expect(drawn).toBe(64 * 15)
    expect(find(figure, 'text').map(({ text }) => text).filter((text) => text.startsWith('seed'))).toEqual(['seed 1', 'seed 2', 'seed 3', 'seed 4', 'seed 5'])
  })
})

describe('comparison', () => {
  it('has a mark for each comparison, its shape by the verdict', () => {
    const marks = figures(page, 'forest').flatMap((figure) => find(figure, 'g')).flatMap(({ attributes }) => /mark-(.*)/.exec(attributes.get('class') ?? '')?.[1] ?? [])
    expect(marks.sort()).toEqual(saved.results.map((result) => (result as Measured).baseline!.verdict.replace(' ', '-')).sort())
  })

  it('keeps apart what is compared with different things', () => {
    const results = saved.results.map((result) => ({ ...result as Measured, others: [{ ...(result as Measured).baseline!, name: 'last week' }] }))
    expect(find(parsePage(renderHtml({ ...saved, results })), 'h4').map(({ text }) => text)).toEqual(['Against saved baseline “main”', 'Against saved baseline “last week”'])
  })

  it('names the other cell by how it differs', () => {
    expect(find(parsePage(renderHtml(sampleReport())), 'h4').map(({ text }) => text)).toEqual(['Against variant clone'])
  })
})

describe('changeScale', () => {
  const change: Change = { ratio: 1.1, low: 1.05, high: 1.15, p: 0, q: 0, pairs: 5, verdict: 'regressed' }

  it('is in order, symmetric about no change, and holds interval and noise', () => {
    const scale = changeScale([change, { ...change, ratio: 1 / 1.1, low: 1 / 1.15, high: 1 / 1.05 }], 0.02, [0, 100])
    expect(scale.at(1)).toBeCloseTo(50)
    expect(scale.at(1.15)).toBeCloseTo(100)
    expect(scale.at(1.1) + scale.at(1 / 1.1)).toBeCloseTo(100)
    expect([0.9, 0.98, 1, 1.02, 1.1].map(scale.at)).toEqual([0.9, 0.98, 1, 1.02, 1.1].map(scale.at).sort((a, b) => a - b))
  })

  it('has ticks that do not touch', () => {
    const ticks = changeScale([{ ...change, low: 1e-5, high: 3 }], 0.02, [0, 300]).ticks(40)
    expect(ticks.map(({ label }) => label)).toContain('same')
    const places = ticks.map(({ ratio }) => changeScale([{ ...change, low: 1e-5, high: 3 }], 0.02, [0, 300]).at(ratio))
    expect(Math.min(...places.slice(1).map((place, at) => place - places[at]!))).toBeGreaterThanOrEqual(40)
  })
})

describe('spreadLabels', () => {
  it('leaves labels that do not touch where they want to be', () => {
    expect(spreadLabels([100, 20, 60], 15, 0)).toEqual([100, 20, 60])
  })

  it('moves those that do apart, about their middle, in their order', () => {
    expect(spreadLabels([50, 52, 54, 200], 15, 0)).toEqual([37, 52, 67, 200])
  })

  it('stays below the top', () => {
    expect(spreadLabels([1, 2, 20], 15, 10)).toEqual([10, 25, 40])
  })
})

describe('suitesOf', () => {
  const layoutOf = (axes: Axes) => {
    const grid = cellsOf('Cannot test', axes)
    const [suite] = suitesOf({ ...saved, results: grid.map((params, at) => ({ ...saved.results[0] as Measured, id: `m/${at}`, params })) })
    return [suite!.x?.name, suite!.y?.name, suite!.series?.name]
  }

  it.each([
    [{ behaviours: [1, 2], protocols: [1, 2], variant: ['a', 'b'] }, ['protocols', 'behaviours', 'variant']],
    [{ variant: ['a', 'b'], refusals: [0, 1, 2] }, ['refusals', 'variant', 'variant']],
    [{ size: [1, 2], depth: [1, 2, 3], kind: ['a', 'b'] }, ['depth', 'size', 'kind']],
    [{ variant: ['a', 'b'] }, ['variant', undefined, undefined]],
    [{ iterations: [1, 2, 3], members: [1, 2] }, ['members', 'iterations', undefined]],
    [{ protocols: [5] }, [undefined, undefined, undefined]]
  ])('lays out %j', (axes, layout) => {
    expect(layoutOf(axes)).toEqual(layout)
  })
})

describe('figures', () => {
  it('have three digits, a unit, and a true minus sign', () => {
    expect([0.29, 1.184, 16.84, 291, 999.7, 40_650, 3e6, 2.5e9].map((ns) => showTime(ns).replace('\u00a0', ' ')))
      .toEqual(['0.290 ns', '1.18 ns', '16.8 ns', '291 ns', '1.00 µs', '40.6 µs', '3.00 ms', '2.50 s'])
    expect([1, 10, 100, 2500, 1e6].map((ns) => showRoundTime(ns).replace('\u00a0', ' '))).toEqual(['1 ns', '10 ns', '100 ns', '2.5 µs', '1 ms'])
  })

  it('are factors from half and double on', () => {
    expect([0.879, 1, 1.103, 1.999, 2, 0.5, 0.0345].map((ratio) => showChange(ratio).replace('\u00a0', ' ')))
      .toEqual(['−12.1 %', '±0.0 %', '+10.3 %', '+99.9 %', '×2.00', '÷2.00', '÷29.0'])
    expect([0.9, 1.02, 2, 0.001].map((ratio) => showRoundChange(ratio).replace('\u00a0', ' '))).toEqual(['−10 %', '+2 %', '×2', '÷1,000'])
  })

  it('count and last', () => {
    expect([counted(1, 'cell'), counted(2, 'cell'), showShare(0.02), showNumber(-0.1), showDuration(35_400), showDuration(362_000), showDuration(3_900_000)]
      .map((text) => text.replaceAll('\u00a0', ' '))).toEqual(['1 cell', '2 cells', '2 %', '−0.1', '35 s', '6 min 2 s', '1 h 5 min'])
  })
})

describe('200 cells', () => {
  const report = sampleReport({
    behaviours: [1, 2, 5, 10, 20], protocols: [1, 10, 100, 1000, 10_000], against: 'saved',
    variants: ['identity', 'revision', 'interned', 'positional', 'marks', 'boxed', 'parity', 'reset']
  })
  const big = parsePage(renderHtml(report))

  it('fold the samples of all but the first group, and keep every panel', () => {
    const groups = find(big, 'details', 'group')
    expect(groups.map(({ attributes }) => attributes.has('open'))).toEqual([true, false, false, false, false])
    expect(groups.map((group) => figures(group, 'panels').length)).toEqual([40, 40, 40, 40, 40])
  })

  it('have eight lines of eight different marks and hues in a panel', () => {
    const lines = descendants(figures(big, 'lines')[0]!).flatMap(({ attributes }) => /^series-\d$/.exec(attributes.get('class') ?? '')?.[0] ?? [])
    expect(new Set(lines).size).toBe(8)
  })
})
