import { showChange } from '../html/figures.ts'
import { markup, px } from '../html/markup.ts'
import type { Markup } from '../html/markup.ts'
import type { Change, Verdict } from '../report.ts'
import type { ChangeScale } from './change-scale.ts'
import { verdictClass } from './verdicts.ts'

/** A line for the interval and the mark of the verdict: the shape says it without the hue. `y` is the middle. */
export function changeMark (change: Change, scale: ChangeScale, y: number): Markup {
  const [low, mid, high] = [change.low, change.ratio, change.high].map((ratio) => px(scale.at(ratio)))
  const shapes: Record<Verdict, string> = {
    improved: `M${mid} ${y + 4}l-5 -8h10z`,
    regressed: `M${mid} ${y - 4}l-5 8h10z`,
    'no change': `M${mid} ${y - 4}v8`,
    inconclusive: `M${mid} ${y - 3.5}a3.5 3.5 0 1 0 .01 0z`
  }
  return markup`<g class="mark-${verdictClass(change.verdict)}"><path d="M${low} ${y}H${high}"/><path class="shape" d="${shapes[change.verdict]}"/></g>`
}

/** `−12.1 % to −8.4 %`. */
export function intervalOf ({ low, high }: Change): string {
  return `${showChange(low)} to ${showChange(high)}`
}
