import { ITERATIONS } from '../axes.ts'
import type { AxisValue } from '../axes.ts'
import type { Params, Report, Result } from '../report.ts'
import { keyOf } from '../results.ts'

/** An axis of a matrix, as its results show it. */
export interface Axis {
  readonly name: string
  /** The values met, in the order of the plan. */
  readonly values: readonly AxisValue[]
}

/** The cells of one matrix, and how its charts are laid out. */
export interface Suite {
  /** The name of the matrix: what its ids begin with. */
  readonly name: string
  readonly results: readonly Result[]
  /** Axes with more than one value. */
  readonly axes: readonly Axis[]
  /** What is the same in all cells. */
  readonly constants: Params
  /** Columns of a heat map, abscissa of the lines: `protocols`, else the longest axis of numbers, else the longest. */
  readonly x: Axis | undefined
  /** Rows of a heat map: `behaviours`, else the longest axis left. */
  readonly y: Axis | undefined
  /** What is compared by hue and mark: `variant`, `build`, else the first axis that is not of numbers. */
  readonly series: Axis | undefined
}

/** Results that share the values of some axes. */
export interface Facet {
  readonly params: Params
  readonly results: readonly Result[]
}

/** The results of a report by matrix, in the order of the plan. */
export function suitesOf (report: Report): Suite[] {
  const byName = new Map<string, Result[]>()
  for (const result of report.results) {
    const name = result.id.split('/', 1)[0] ?? ''
    const group = byName.get(name)
    if (group === undefined) {
      byName.set(name, [result])
    } else {
      group.push(result)
    }
  }
  return [...byName].map(([name, results]) => suiteOf(name, results))
}

/** Whether the axis can be drawn to scale. */
export function isNumeric (axis: Axis): boolean {
  return axis.values.every((value) => typeof value === 'number')
}

/** The results by the values of `axes`, in the order of the plan. One facet if there are no axes. */
export function facetsBy (results: readonly Result[], axes: readonly Axis[]): Facet[] {
  const facets = new Map<string, { params: Params, results: Result[] }>()
  for (const result of results) {
    const params = pick(result.params, axes)
    const key = keyOf(params)
    const facet = facets.get(key)
    if (facet === undefined) {
      facets.set(key, { params, results: [result] })
    } else {
      facet.results.push(result)
    }
  }
  return [...facets.values()]
}

/** The axes of the suite but for some. */
export function axesBut (suite: Suite, ...taken: ReadonlyArray<Axis | undefined>): Axis[] {
  return suite.axes.filter((axis) => !taken.includes(axis))
}

/** The value of the cell on an axis, for people; nothing where there is no such axis. */
export function valueOn (result: Result, axis: Axis | undefined): string {
  return axis === undefined ? '' : String(result.params[axis.name])
}

/** `behaviours 5 · protocols 100`: the cell by the axes that tell it from others. */
export function describeCell (result: Result, axes: readonly Axis[]): string {
  return describeParams(pick(result.params, axes))
}

/** `behaviours 5 · protocols 100`; nothing for no parameters. */
export function describeParams (params: Params): string {
  return Object.entries(params).map(([name, value]) => `${name} ${value}`).join(' · ')
}

function suiteOf (name: string, results: readonly Result[]): Suite {
  const all = axesOf(results)
  const axes = all.filter(({ values }) => values.length > 1)
  const constants = Object.fromEntries(all.flatMap(({ name, values }) => values.length === 1 && values[0] !== undefined ? [[name, values[0]]] : []))
  const series = ['variant', 'build'].map((wanted) => axes.find((axis) => axis.name === wanted)).find((axis) => axis !== undefined)
    ?? axes.find((axis) => !isNumeric(axis))
  const x = placeOf('protocols', axes.filter((axis) => axis !== series)) ?? series
  const rest = axes.filter((axis) => axis !== x)
  const y = placeOf('behaviours', rest.filter((axis) => axis !== series)) ?? rest[0]
  return { name, results, axes, constants, x, y, series: series === x ? undefined : series }
}

function axesOf (results: readonly Result[]): Axis[] {
  const values = new Map<string, Set<AxisValue>>()
  for (const { params } of results) {
    for (const [name, value] of Object.entries(params)) {
      values.set(name, (values.get(name) ?? new Set()).add(value))
    }
  }
  return [...values].map(([name, met]) => ({ name, values: [...met] }))
}

/** The inner loop comes last: it says how a cell is measured rather than what. */
function placeOf (wanted: string, axes: readonly Axis[]): Axis | undefined {
  const rank = (axis: Axis): number =>
    (axis.name === wanted ? 1e9 : 0) + (isNumeric(axis) ? 1e6 : 0) - (axis.name === ITERATIONS ? 1e6 - 1 : 0) + axis.values.length
  return [...axes].sort((a, b) => rank(b) - rank(a))[0]
}

function pick (params: Params, axes: readonly Axis[]): Params {
  return Object.fromEntries(axes.flatMap(({ name }) => {
    const value = params[name]
    return value === undefined ? [] : [[name, value]]
  }))
}
