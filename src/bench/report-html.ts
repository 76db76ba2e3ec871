import { createHash } from 'node:crypto'
import { comparisons } from './charts/comparison.ts'
import { costLines } from './charts/cost-lines.ts'
import { distributions } from './charts/distributions.ts'
import { heatMaps } from './charts/heat-map.ts'
import { runOrder } from './charts/run-order.ts'
import { suitesOf } from './charts/suite.ts'
import type { Suite } from './charts/suite.ts'
import { cellTable } from './html/cell-table.ts'
import { Markup, markup } from './html/markup.ts'
import { SORT_SCRIPT } from './html/script.ts'
import { styleSheet } from './html/style.ts'
import { environmentList, headline, runInWords, summary } from './html/summary.ts'
import type { Report } from './report.ts'

/**
 * A report as one HTML page that needs nothing beside itself: no request, no font, no image. The charts are SVG and stand
 * there without a script; the one script sorts tables. Everything that was measured or named is escaped. Needs the
 * packages `d3-scale` and `d3-shape`: import this file only when a page is wanted.
 *
 * @param report - a run, as `--json` writes it
 * @param isBracketed - whether the verdicts come from runs that should not be compared
 */
export function renderHtml (report: Report, isBracketed = false): string {
  const suites = suitesOf(report)
  const parts = suites.map((suite, at) => ({ suite, id: `m${at}`, parts: partsOf(suite, report, `m${at}`) }))
  const found = headline(report)
  const title = `${found} – ${suites.map(({ name }) => name).join(', ')}`
  const page = markup`<html lang="en"><head><meta charset="utf-8"/>
    ${policy()}
    <meta name="viewport" content="width=device-width,initial-scale=1"/><meta name="color-scheme" content="light dark"/>
    <title>${title}</title><style>${new Markup(styleSheet())}</style></head>
    <body class="${isBracketed ? 'bracketed' : 'plain'}"><a class="skip" href="#main">Skip to the summary</a>
    <header><p class="kicker">Benchmark report · ${report.environment.package}</p>
      <h1>${headlineMarkup(found)}</h1><p class="lede">${runInWords(report)}</p>${isBracketed ? markup`<p class="note">${BRACKETS}</p>` : undefined}
      <nav aria-label="Parts of the report"><ul><li><a href="#main">Summary</a></li>${parts.flatMap(({ suite, id, parts: own }) => [
        suites.length === 1 ? own.map(({ name, slug }) => link(`${id}-${slug}`, name)) : link(id, suite.name)
      ])}${link('run', 'Run order')}${link('environment', 'Environment')}</ul></nav></header>
    <main id="main" tabindex="-1"><h2 class="hidden">Summary</h2>${summary(report)}
    ${parts.map(({ suite, id, parts: own }) => markup`<h2 id="${id}">${suite.name}</h2>${own.map(({ name, slug, content }) =>
      markup`<section><h3 id="${id}-${slug}">${name}</h3>${content}</section>`)}`)}
    <h2 id="run">Run order</h2>${runOrder(report, 'run-order')}
    <h2 id="environment">Environment</h2>${environmentList(report)}</main>
    <footer><p>Figures are the time of one iteration; intervals are 95 %. This page is complete: it loads nothing.</p></footer>
    <script>${new Markup(SORT_SCRIPT)}</script></body></html>`
  return `<!doctype html>\n${page.toString()}\n`
}

const BRACKETS = 'Verdicts are in brackets: the runs that they compare were made under other conditions, so a difference need not be of the code.'

interface Part {
  readonly name: string
  /** Of its anchor. */
  readonly slug: string
  readonly content: Markup
}

function partsOf (suite: Suite, { options: { noise } }: Report, id: string): Part[] {
  const parts: ReadonlyArray<readonly [slug: string, name: string, content: Markup | undefined]> = [
    ['heat', 'Heat maps', heatMaps(suite, noise, `${id}-h`)],
    ['lines', suite.x === undefined ? 'Cost' : `Cost over ${suite.x.name}`, costLines(suite, `${id}-l`)],
    ['changes', 'Comparison', comparisons(suite, noise, `${id}-c`)],
    ['cells', 'All cells', cellTable(suite, noise, id)],
    ['samples', 'Distributions', distributions(suite, `${id}-s`)]
  ]
  return parts.flatMap(([slug, name, content]) => content === undefined ? [] : [{ slug, name, content }])
}

function link (id: string, name: string): Markup {
  return markup`<li><a href="#${id}">${name}</a></li>`
}

/** `1 regressed, 3 improved`, each in its hue. */
function headlineMarkup (found: string): Markup {
  return markup`${found.split(', ').map((part, at) => markup`${at === 0 ? '' : ', '}<span class="${part.split(' ')[1]}">${part}</span>`)}`
}

/** Nothing may be loaded, and nothing run but the script of which this is the hash. */
function policy (): Markup {
  const hash = createHash('sha256').update(SORT_SCRIPT).digest('base64')
  const content = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`
  // The name of the attribute in capitals: so a plain search for "http" finds every address, and this is none.
  return markup`<meta HTTP-EQUIV="Content-Security-Policy" content="${content}"/>`
}
