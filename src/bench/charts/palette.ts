import { scaleLinear } from 'd3-scale'

/** A colour by its channels, 0 to 255. */
export type Rgb = readonly [red: number, green: number, blue: number]

/** One step of a colour scale, and the ink that reads on it. */
export interface Swatch {
  readonly fill: string
  readonly ink: '#000' | '#fff'
}

/** The colours of one scheme. */
export interface Palette {
  /** From much faster to much slower; the one in the middle is no change. */
  readonly changes: readonly Swatch[]
  /** From cheap to dear. */
  readonly costs: readonly Swatch[]
}

/** Steps of the scale of changes; odd, so that "no change" has one. */
export const CHANGE_STEPS = 25

/** Steps of the scale of costs. */
export const COST_STEPS = 15

/** Of light pages: dear is dark, the neutral middle is close to the page. */
export const LIGHT: Palette = {
  changes: swatches(['#0b4a8f', '#3f86cc', '#a3cbee', '#f1f1ee', '#f9cfa3', '#e58a3c', '#a14100'], CHANGE_STEPS),
  costs: swatches(['#eef4f8', '#c3dcea', '#7fb4cf', '#3d80a6', '#1c4d75', '#0f2b4b'], COST_STEPS)
}

/** Of dark pages: dear is bright. */
export const DARK: Palette = {
  changes: swatches(['#7dbcf8', '#3f86cc', '#1f5083', '#232a33', '#7a4516', '#c56c20', '#f7a55c'], CHANGE_STEPS),
  costs: swatches(['#1b2430', '#1f3f58', '#2b6284', '#4a93b5', '#8cc6da', '#d9f1f5'], COST_STEPS)
}

/** The contrast of two colours by WCAG 2, from 1 to 21. */
export function contrast (a: string, b: string): number {
  const [dark, light] = [luminance(parse(a)), luminance(parse(b))].sort((x, y) => x - y)
  return ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05)
}

function swatches (stops: readonly string[], steps: number): Swatch[] {
  const colour = scaleLinear<string>().domain(stops.map((_, at) => at / (stops.length - 1))).range(stops)
  return Array.from({ length: steps }, (_, at) => {
    const fill = toHex(parse(colour(at / (steps - 1))))
    // One of the two has a contrast of 4.58 at least, whatever the fill.
    return { fill, ink: contrast(fill, '#000') > contrast(fill, '#fff') ? '#000' : '#fff' }
  })
}

/** Of `#rgb`, `#rrggbb` and `rgb(r, g, b)`: the forms of our stops and of d3. */
function parse (colour: string): Rgb {
  const short = /^#(.)(.)(.)$/.exec(colour)?.slice(1).map((digit) => parseInt(digit + digit, 16))
  const long = /^#(..)(..)(..)$/.exec(colour)?.slice(1).map((digits) => parseInt(digits, 16))
  const [red = 0, green = 0, blue = 0] = short ?? long ?? (colour.match(/\d+/g) ?? []).map(Number)
  return [red, green, blue]
}

function toHex (colour: Rgb): string {
  return `#${colour.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}

function luminance (colour: Rgb): number {
  const [red, green, blue] = colour.map((channel) => {
    const part = channel / 255
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0)
}
