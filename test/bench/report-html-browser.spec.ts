import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type Axe from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { renderHtml } from '../../src/bench/report-html.ts'
import { sampleReport } from './sample-report.ts'

/** Debian's browser; the tests download none. */
const CHROMIUM = '/usr/bin/chromium'
const hasBrowser = existsSync(CHROMIUM)
if (!hasBrowser) {
  console.warn(`The HTML report is not looked at in a browser: there is no ${CHROMIUM}.`)
}

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync'
]

const saved = sampleReport({ against: 'saved', failing: 17 })
const reports = {
  saved,
  'two matrices': { ...saved, results: [...saved.results, ...sampleReport({ name: 'when-all', behaviours: [1], against: 'nothing', processes: 3, rounds: 1, samples: 1 }).results] },
  '200 cells': sampleReport({
    behaviours: [1, 2, 5, 10, 20], protocols: [1, 10, 100, 1000, 10_000], against: 'saved', failing: 50,
    variants: ['identity', 'revision', 'interned', 'positional', 'marks', 'boxed', 'parity', 'reset']
  })
}
const views: Array<[string, BrowserContextOptions]> = [
  ['light', { colorScheme: 'light', viewport: { width: 1360, height: 900 } }],
  ['dark', { colorScheme: 'dark', viewport: { width: 1360, height: 900 } }],
  ['a phone', { colorScheme: 'light', viewport: { width: 320, height: 640 } }]
]

describe.skipIf(!hasBrowser)('the HTML report in a browser', { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'report-html-'))
  let browser: Browser

  beforeAll(async () => {
    const { chromium } = await import('playwright-core')
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
    for (const [name, report] of Object.entries(reports)) {
      writeFileSync(join(folder, `${name}.html`), renderHtml(report))
    }
  }, 60_000)

  afterAll(async () => {
    await browser.close()
    rmSync(folder, { recursive: true })
  })

  /** Opens a report and notes all that it asks for and complains about. */
  async function open (name: keyof typeof reports, options: BrowserContextOptions): Promise<{ page: Page, requests: string[], complaints: string[] }> {
    const page = await browser.newPage(options)
    const requests: string[] = []
    const complaints: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(pathToFileURL(join(folder, `${name}.html`)).href)
    return { page, requests, complaints }
  }

  it.each(views)('asks for nothing and complains of nothing: %s', async (_, options) => {
    const { page, requests, complaints } = await open('saved', options)
    expect(requests).toHaveLength(1)
    expect(complaints).toEqual([])
    await page.close()
  })

  const looks = (['saved', 'two matrices'] as const).flatMap((name) => views.map(([view, options]) => [name, view, options] as const))

  it.each([...looks, ['200 cells', ...views[1]!] as const])('has no violation that axe finds: %s, %s', async (name, _, options) => {
    // The policy of the page keeps axe out as well.
    const { page } = await open(name, { ...options, bypassCSP: true })
    await page.evaluate(() => { document.querySelectorAll('details').forEach((details) => { details.open = true }) })
    await page.addScriptTag({ path: createRequire(import.meta.url).resolve('axe-core/axe.min.js') })
    const violations = await page.evaluate(async () => {
      const { axe } = globalThis as unknown as { axe: typeof Axe }
      const { violations } = await axe.run(document, { resultTypes: ['violations'] })
      return violations.map(({ id, nodes }) => ({ id, at: nodes.slice(0, 3).map(({ html }) => html) }))
    })
    expect(violations).toEqual([])
    await page.close()
  })

  it.each(Object.keys(reports) as Array<keyof typeof reports>)('fits a screen of 320 pixels: %s', async (name) => {
    const { page } = await open(name, views[2]![1])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    const smallest = await page.evaluate(() => Math.min(...[...document.querySelectorAll('svg[role=img]')].map((svg) => svg as SVGSVGElement)
      .filter((svg) => svg.getBoundingClientRect().width > 0).map((svg) => 11.5 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)))
    expect(smallest).toBeGreaterThan(8)
    await page.close()
  })

  it('shows everything without JavaScript', async () => {
    const { page } = await open('saved', { javaScriptEnabled: false })
    expect(await page.locator('.cells tbody tr:visible').count()).toBe(saved.results.length)
    expect(await page.locator('.grid.heat svg:visible').count()).toBe(4)
    expect(await page.locator('.grid.lines svg:visible').count()).toBe(4)
    expect(await page.locator('thead button:enabled').count()).toBe(0)
    // The choice of a verdict is style alone.
    await page.locator('label', { hasText: 'improved' }).click()
    const improved = saved.results.filter((result) => 'baseline' in result && result.baseline.verdict === 'improved').length
    expect(await page.locator('.cells tbody tr:visible').count()).toBe(improved)
    await page.close()
  })

  it('sorts by any heading, by mouse and keyboard, and leaves failures at the end', async () => {
    const { page } = await open('saved', {})
    const heading = page.locator('.cells th', { hasText: 'mid' })
    const mids = async () => page.locator('.cells tbody tr').evaluateAll((rows) => rows.map((row) => (row as HTMLTableRowElement).cells[4]?.dataset['key']))
    const sorted = saved.results.flatMap((result) => 'mid' in result ? Number((result).mid.toPrecision(6)) : []).sort((a, b) => a - b)
    await heading.locator('button').click()
    expect(await heading.getAttribute('aria-sort')).toBe('ascending')
    expect(await mids()).toEqual([...sorted.map(String), undefined])
    await heading.locator('button').press('Enter')
    expect(await heading.getAttribute('aria-sort')).toBe('descending')
    expect(await mids()).toEqual([...sorted.reverse().map(String), undefined])
    await page.locator('.cells th button', { hasText: 'verdict' }).click()
    expect(await heading.getAttribute('aria-sort')).toBe('none')
    await page.close()
  })

  it('shows where the focus is', async () => {
    const { page } = await open('saved', {})
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => getComputedStyle(document.activeElement!).outlineStyle)).toBe('solid')
    await page.close()
  })

  it('prints every panel and the whole table, on white', async () => {
    const { page } = await open('200 cells', { colorScheme: 'dark', viewport: { width: 1000, height: 800 } })
    await page.emulateMedia({ media: 'print' })
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe('rgb(255, 255, 255)')
    expect(await page.evaluate(() => [...document.querySelectorAll('.panels svg')].filter((svg) => svg.checkVisibility({ contentVisibilityAuto: true })).length)).toBe(199)
    expect(await page.evaluate(() => { const scroll = document.querySelector('.scroll:has(>.cells)')!; return scroll.scrollHeight - scroll.clientHeight })).toBeLessThan(2)
    await page.close()
  })
})
