import { arch, cpus, loadavg, release, totalmem, type } from 'node:os'
import { EXECUTOR } from './sampler.ts'
import type { PlannedCell } from './matrix.ts'
import type { Result, RunOptions } from './runner.ts'

/** What the figures were measured on; no names of hosts, users or paths. */
export interface Environment {
  readonly node: string
  readonly v8: string
  readonly platform: string
  readonly arch: string
  readonly os: string
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  readonly executor: string
  readonly loadBefore: number
  readonly loadAfter: number
}

/** The file that `--json` writes. */
export interface Report {
  readonly schema: 'behaviours-bench/1'
  /** ISO 8601, UTC. */
  readonly startedAt: string
  readonly durationMs: number
  readonly environment: Environment
  readonly options: RunOptions
  readonly results: readonly Result[]
}

/** The load of the last minute. */
export function load (): number {
  return loadavg()[0] ?? 0
}

/** Of this process; `loadBefore` is what {@link load} gave before the first cell. */
export function environment (loadBefore: number): Environment {
  return {
    node: process.version,
    v8: process.versions.v8,
    platform: process.platform,
    arch: arch(),
    os: `${type()} ${release()}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryBytes: totalmem(),
    executor: EXECUTOR,
    loadBefore,
    loadAfter: load()
  }
}

/** One line a cell: its figures, and how many times faster it is than the baseline. */
export function table (cells: readonly PlannedCell[], results: readonly Result[]): string {
  const mids = new Map(results.map(result => [result.id, 'mid' in result ? result.mid : NaN]))
  const rows = results.map((result, index) => {
    if ('error' in result) {
      return [result.id, 'failed:', result.error.message, '', '']
    }
    const faster = (mids.get(cells[index]?.baselineId ?? '') ?? NaN) / result.mid
    return [result.id, ...[result.low, result.mid, result.high].map(duration), Number.isFinite(faster) ? `${faster < 100 ? faster.toPrecision(3) : Math.round(faster)} x` : '']
  })
  return columns([['cell', 'low', 'mid', 'high', 'speed'], ...rows])
}

function duration (ns: number): string {
  return ns < 1000 ? `${ns.toPrecision(3)} ns` : ns < 1e6 ? `${(ns / 1e3).toPrecision(3)} µs` : `${(ns / 1e6).toPrecision(3)} ms`
}

function columns (rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  return rows
    .map(row => row.map((text, column) => column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0)).join('  ').trimEnd())
    .join('\n')
}
