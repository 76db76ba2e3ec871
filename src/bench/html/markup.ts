/**
 * Markup by template, safe by construction: what stands in the template is markup, what is put into it is text. One
 * escape serves element content, attributes in double quotes and SVG; templates write every attribute in double quotes,
 * and put nothing into a script, a style sheet or the name of a tag.
 */

/** What {@link markup} takes in its gaps: text and numbers, which are escaped, and markup, which is not. */
export type Content = Markup | string | number | undefined | readonly Content[]

/** Text that may stand in a page as it is. A class, so that nothing read from a file can pass for one. */
export class Markup {
  readonly #text: string

  /** @param text - markup, already escaped */
  constructor (text: string) {
    this.#text = text
  }

  /** The markup. */
  toString (): string {
    return this.#text
  }
}

/** Markup with every gap escaped; `undefined` is nothing, a list is its items one after the other. */
export function markup (template: TemplateStringsArray, ...gaps: readonly Content[]): Markup {
  let text = ''
  template.forEach((fixed, at) => {
    // The indentation of a template is for its reader here.
    text += fixed.replace(/\n\s*/g, '\n') + render(gaps[at])
  })
  return new Markup(text.replace(/^\n|\n$/g, ''))
}

function render (content: Content): string {
  if (content === undefined) {
    return ''
  }
  if (content instanceof Markup) {
    return content.toString()
  }
  return typeof content === 'object' ? content.map(render).join('') : escapeText(String(content))
}

const ENTITIES = new Map([['&', '&amp;'], ['<', '&lt;'], ['>', '&gt;'], ['"', '&quot;'], ['\'', '&#39;']])

/** Controls, which a page may not hold; marks that turn the direction of the text around them; halves of a character. */
// eslint-disable-next-line no-control-regex -- they are what is looked for
const UNSHOWABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]|\p{Surrogate}/gu

function escapeText (text: string): string {
  return text
    .replace(UNSHOWABLE, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(/[&<>"']/g, (character) => ENTITIES.get(character) ?? character)
}

/** A coordinate, short: tenths are enough for a screen. */
export function px (value: number): number {
  return Math.round(value * 10) / 10
}
