import { markup, px } from '../html/markup.ts'
import type { Content, Markup } from '../html/markup.ts'

/** A drawing and what it says in words. */
export interface Drawing {
  /** Unique in the page; letters, digits and dashes. */
  readonly id: string
  readonly title: string
  /** What a reader would see: axes, marks, and the finding. */
  readonly description: string
  readonly width: number
  readonly height: number
  /** Below this width it does not shrink with its surroundings, as text would be too small; 0 if left out. */
  readonly least?: number
  readonly body: Content
}

/** A table with a caption; columns of figures are set in `numeric`. */
export interface TableData {
  readonly caption: string
  readonly head: readonly string[]
  readonly rows: ReadonlyArray<readonly Content[]>
}

/** An SVG that assistive technology reads as one picture. */
export function drawing ({ id, title, description, width, height, least = 0, body }: Drawing): Markup {
  const size = markup`viewBox="0 0 ${px(width)} ${px(height)}" width="${px(width)}" height="${px(height)}"`
  const style = least === 0 ? undefined : markup` style="min-width:${px(least)}px"`
  return markup`<svg role="img" aria-labelledby="${id}-t" aria-describedby="${id}-d" ${size}${style}>
    <title id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>
    ${body}</svg>`
}

/** A picture in a line of text, 16 pixels high, of what the text says as well: readers by ear skip it. */
export function spark (width: number, body: Content): Markup {
  return markup`<svg class="spark" aria-hidden="true" viewBox="0 0 ${width} 16" width="${width}" height="16">${body}</svg>`
}

/** The data of a chart as a table, folded away beneath it. */
export function dataTable ({ caption, head, rows }: TableData): Markup {
  return markup`<details class="data"><summary>Figures<span class="hidden"> of ${caption}</span></summary>
    ${scrolling(caption, markup`<table><caption class="hidden">${caption}</caption>
      <thead><tr>${head.map((name) => markup`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${rows.map(([first, ...rest]) =>
        markup`<tr><th scope="row">${first}</th>${rest.map((cell) => markup`<td>${cell}</td>`)}</tr>`)}</tbody></table>`)}
  </details>`
}

/** Content that may be wider than the screen: it scrolls by itself, by keyboard too. */
export function scrolling (label: string, content: Content): Markup {
  return markup`<div class="scroll" role="group" tabindex="0" aria-label="${label}">${content}</div>`
}

/** Small round marks at the given points, as one path: a line of no length with a round cap is a dot. */
export function dots (points: ReadonlyArray<readonly [x: number, y: number]>): string {
  return points.map(([x, y]) => `M${px(x)} ${px(y)}h0`).join('')
}

/** Text cut to what fits; the whole of it stands in the table of the chart. */
export function cut (text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
