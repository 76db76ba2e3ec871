import { claimsOf } from './claims.ts'
import { compare } from './compare.ts'
import { judgeAll, noiseOf, savedOpponents } from './judge.ts'
import { CONTROL_IDS } from './plan.ts'
import { REPORT_SCHEMA } from './report.ts'
import { isMeasured, resultOf, valuesOf } from './results.ts'
import { CONFIDENCE } from './statistics.ts'
import type { ProcessValues } from './compare.ts'
import type { Match, Opponent, Opponents } from './judge.ts'
import type { Plan } from './plan.ts'
import type { Comparison, Controls, Environment, Measured, Report, ReportOptions, Result } from './report.ts'
import type { CellRecord } from './session.ts'

/** What a run knows beside its records. */
export interface RunFacts {
  readonly startedAt: string
  readonly durationMs: number
  readonly environment: Environment
  readonly options: Omit<ReportOptions, 'noise' | 'confidence'> & { readonly noise: number | 'auto' }
  /** What the cells are compared with. */
  readonly saved?: SavedReport
}

/** A report and the name it was saved under. */
export interface SavedReport {
  readonly name: string
  readonly report: Report
}

/** The report of a run. */
export function assemble (plan: Plan, records: readonly CellRecord[], facts: RunFacts): Report {
  const { saved, options } = facts
  const floor = measuredBy(records, CONTROL_IDS.empty, undefined)?.mid
  const planned = new Set(plan.cells)
  const results = records.filter(({ cell }) => planned.has(cell)).map(record => resultOf(record, floor))
  const values = new Map(results.filter(isMeasured).map(measured => [measured.id, valuesOf(measured)]))
  const fixed = measuredBy(records, CONTROL_IDS.fixed, floor)
  const twin = twinMatch(plan, values, measuredBy(records, CONTROL_IDS.twin, floor))
  const noise = noiseOf(options.noise, twin && compare(twin.values, twin.opponent.values))
  const change = saved && fixed && fixedMatch(saved, valuesOf(fixed))
  const opponents = opponentsIn(plan, values, saved, change)
  const judged = judgeAll(results, opponents, [twin, change].filter(match => match !== undefined), { noise, tolerance: options.tolerance })
  return {
    schema: REPORT_SCHEMA,
    startedAt: facts.startedAt,
    durationMs: facts.durationMs,
    environment: facts.environment,
    options: { ...options, noise, confidence: CONFIDENCE },
    results: judged.results,
    claims: [...new Set(plan.cells.map(({ matrix }) => matrix))].flatMap(matrix => claimsOf(matrix, results)),
    controls: controlsOf(fixed, judged.controls)
  }
}

function measuredBy (records: readonly CellRecord[], id: string, floor: number | undefined): Measured | undefined {
  const record = records.find(({ cell }) => cell.id === id)
  const result: Result | undefined = record && resultOf(record, floor)
  return result !== undefined && isMeasured(result) ? result : undefined
}

function twinMatch ({ twinOf }: Plan, values: ReadonlyMap<string, ProcessValues>, twin: Measured | undefined): Match | undefined {
  const original = values.get(twinOf)
  return twin && original && { values: valuesOf(twin), opponent: { of: { id: twinOf }, values: original, shift: 0 } }
}

/** How fast the machine is, now and then. */
function fixedMatch ({ name, report }: SavedReport, values: ProcessValues): Match {
  return { values, opponent: { of: { name }, values: fixedValues(report), shift: 0 } }
}

function fixedValues ({ controls, environment }: Pick<Report, 'controls' | 'environment'>): ProcessValues {
  const perProcess = controls.fixed.perProcess ?? []
  return new Map(environment.seeds.flatMap((seed, index) => {
    const ns = perProcess[index]
    return ns === undefined ? [] : [[seed, Math.log(ns)]]
  }))
}

/** What the machine changed by between two runs, as a fraction. */
function shiftOf (change: Match | undefined): number {
  const difference = change && compare(change.values, change.opponent.values)
  return difference === undefined ? 0 : Math.abs(difference.ratio - 1)
}

function opponentsIn (plan: Plan, values: ReadonlyMap<string, ProcessValues>, saved: SavedReport | undefined, change: Match | undefined): Opponents {
  const ofSaved: Opponents = saved === undefined ? () => [] : savedOpponents(saved.name, saved.report, shiftOf(change))
  const baselines = new Map(plan.cells.map(({ id, baselineIds }) => [id, baselineIds]))
  return (measured) => {
    const inRun = (baselines.get(measured.id) ?? []).flatMap((id): Opponent[] => {
      const ofOther = values.get(id)
      return ofOther === undefined ? [] : [{ of: { id }, values: ofOther, shift: 0 }]
    })
    return [...ofSaved(measured), ...inRun]
  }
}

/** A saved report compared with another one, instead of what it was compared with before. */
export function reassemble (report: Report, saved: SavedReport, thresholds: { readonly noise: number | 'auto', readonly tolerance: number }): Report {
  const { tolerance } = thresholds
  const noise = noiseOf(thresholds.noise, report.controls.twin)
  const change = fixedMatch(saved, fixedValues(report))
  const opponents = savedOpponents(saved.name, saved.report, shiftOf(change))
  const { results, controls: [fixedChange] } = judgeAll(report.results, opponents, [change], { noise, tolerance })
  const { fixedChange: _, ...controls } = report.controls
  return {
    ...report, results, options: { ...report.options, noise, tolerance }, controls: { ...controls, ...(fixedChange === undefined ? {} : { fixedChange }) }
  }
}

function controlsOf (fixed: Measured | undefined, comparisons: ReadonlyArray<Comparison | undefined>): Controls {
  const twin = comparisons.find(comparison => comparison !== undefined && 'id' in comparison)
  const fixedChange = comparisons.find(comparison => comparison !== undefined && 'name' in comparison)
  return {
    ...(twin === undefined ? {} : { twin }),
    fixed: fixed === undefined
      ? { low: 0, mid: 0, high: 0 }
      : { low: fixed.low, mid: fixed.mid, high: fixed.high, perProcess: [...valuesOf(fixed).values()].map(Math.exp) },
    ...(fixedChange === undefined ? {} : { fixedChange })
  }
}
