/** Named axes and the cells between them. */

/** What an axis may be made of. Numbers are finite. */
export type AxisValue = string | number | boolean

/** The values of each axis; the first axis varies slowest. */
export type Axes = Readonly<Record<string, readonly AxisValue[]>>

/** One value of each axis. */
export type Cell<Of extends Axes> = { readonly [Axis in keyof Of]: Of[Axis][number] }

/** Values of some axes. */
export type CellPart<Of extends Axes> = { readonly [Axis in keyof Of]?: Of[Axis][number] }

/** The axes that have numbers. */
export type NumberAxis<Of extends Axes> = { [Axis in keyof Of]: Extract<Of[Axis][number], number> extends never ? never : Axis }[keyof Of] & string

/** What matrices and axes may be called. */
const NAME = /^[a-z0-9][a-z0-9.-]*$/

/** Characters of an id; longer ones would be cut by the services that keep figures. */
const MAX_ID = 1024

/** How often `run` repeats its work within one call: the one axis with a meaning. */
export const ITERATIONS = 'iterations'

/**
 * Every cell between the axes, the last axis varying fastest.
 *
 * @throws RangeError for no axes, an empty one, a repeated value, a name that ids cannot have, a number that is not finite, or
 * iterations that are no whole number of at least 1
 * @throws TypeError for a value of another type
 */
export function cellsOf (action: string, axes: Axes): Array<Record<string, AxisValue>> {
  const entries = Object.entries(axes)
  if (entries.length === 0) {
    throw new RangeError(`${action}: it must have at least one axis`)
  }
  for (const [axis, values] of entries) {
    checkAxis(action, axis, values)
  }
  return entries.reduce<Array<Record<string, AxisValue>>>(
    (cells, [axis, values]) => cells.flatMap(cell => values.map(value => ({ ...cell, [axis]: value }))), [{}]
  )
}

function checkAxis (action: string, axis: string, values: readonly AxisValue[]): void {
  checkName(action, 'the name of an axis', axis)
  if (values.length === 0) {
    throw new RangeError(`${action}: axis ${axis} must have at least one value`)
  }
  if (new Set(values).size < values.length) {
    throw new RangeError(`${action}: axis ${axis} has a value twice`)
  }
  for (const value of values) {
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      throw new TypeError(`${action}: a value of axis ${axis} must be a string, a number or a boolean, received ${typeof value}`)
    }
    if (typeof value === 'number' && !Number.isFinite(value)) {
      throw new RangeError(`${action}: a number of axis ${axis} must be finite, received ${value}`)
    }
    if (axis === ITERATIONS && !(Number.isInteger(value) && Number(value) >= 1)) {
      throw new RangeError(`${action}: iterations must be whole numbers of at least 1, received ${value}`)
    }
  }
}

/** @throws RangeError for a name that ids cannot have */
export function checkName (action: string, what: string, name: string): void {
  if (!NAME.test(name)) {
    throw new RangeError(`${action}: ${what} must match ${String(NAME)}, received ${JSON.stringify(name)}`)
  }
}

/**
 * The name of a cell in every file: `matrix/axis=value/axis=value`. `%`, `/`, `=` and control characters of values are
 * percent-encoded, so that `decodeURIComponent` gives each part back.
 *
 * @throws RangeError when it has more than 1024 characters
 */
export function cellId (matrix: string, cell: Readonly<Record<string, AxisValue>>): string {
  const id = [matrix, ...Object.entries(cell).map(([axis, value]) => `${axis}=${escapeValue(String(value))}`)].join('/')
  if (id.length > MAX_ID) {
    throw new RangeError(`Cannot name a cell of ${matrix}: its id must have at most ${MAX_ID} characters, has ${id.length}`)
  }
  return id
}

function escapeValue (text: string): string {
  return text.replace(/[%/=\p{Cc}]/gu, character => character === '=' || character === '/' || character === '%' || character < '\u0080'
    ? `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
    : encodeURIComponent(character))
}

/** Whether a cell has all values of a part. */
export function matches (cell: Readonly<Record<string, AxisValue>>, part: Readonly<Record<string, AxisValue | undefined>>): boolean {
  return Object.entries(part).every(([axis, value]) => value === undefined || cell[axis] === value)
}
