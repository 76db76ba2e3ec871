import { parseArgs } from 'node:util'
import { checkBaselineName } from './baseline.ts'
import { DEFAULT_AMOUNTS, QUICK_AMOUNTS } from './budget.ts'
import { parseConditions, parseFailOn, parseFilter, parseNoise, parseNumber, parsePercent, requireOneOf } from './option-values.ts'
import { FORMATS } from './outputs.ts'
import type { Amounts } from './budget.ts'
import type { FailCondition } from './fail-on.ts'
import type { OutputFile } from './outputs.ts'
import type { Selection } from './plan.ts'

/** What the command line asks for. */
export type Command =
  | { readonly type: 'help' | 'version' | 'list-baselines' }
  | CompareCommand
  | RunCommand

/** What both a run and a comparison are told. */
export interface Judging {
  readonly outputs: readonly OutputFile[]
  readonly failOn: readonly FailCondition[]
  /** A fraction. */
  readonly noise: number | 'auto'
  /** A fraction. */
  readonly tolerance: number
  readonly isMismatchAllowed: boolean
  readonly isVerbose: boolean
}

/** Tables of saved results. */
export interface CompareCommand extends Judging {
  readonly type: 'compare'
  /** A baseline or a file, which the others are compared with. */
  readonly base: string
  readonly others: readonly string[]
}

/** A run, or a look at what it would be. */
export interface RunCommand extends Judging {
  readonly type: 'run' | 'list' | 'check'
  /** Bench files; none for the usual ones. */
  readonly files: readonly string[]
  readonly selection: Selection
  readonly amounts: Amounts
  readonly maxTimeMs: number | undefined
  readonly cellTimeoutMs: number
  readonly executor: 'benny' | 'builtin' | undefined
  /** The folder of another build. */
  readonly against: string | undefined
  readonly saveBaseline: string | undefined
  readonly baseline: string | undefined
  readonly orderSeed: number | undefined
  readonly nodeFlags: readonly string[]
  readonly isMemoryMeasured: boolean
}

const text = { type: 'string' } as const
const list = { type: 'string', multiple: true } as const
const flag = { type: 'boolean', default: false } as const

const OPTIONS = {
  filter: list, where: list, list: flag, check: flag, quick: flag,
  processes: text, rounds: text, samples: text, 'min-time': text, 'warm-up': text,
  'max-time': text, 'cell-timeout': text, executor: text, against: text,
  'save-baseline': text, baseline: text, 'list-baselines': flag, compare: text, 'allow-mismatch': flag,
  'fail-on': list, noise: text, tolerance: text,
  json: list, csv: list, html: list, markdown: list, bmf: list, gha: list,
  'order-seed': text, 'node-flag': list, 'no-memory': flag, verbose: flag, help: flag, version: flag
} as const

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS, allowPositionals: true }>>['values']

/** @throws Error with one line for the user */
export function parseCommand (argv: readonly string[]): Command {
  const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true })
  if (values.help) {
    return { type: 'help' }
  }
  if (values.version) {
    return { type: 'version' }
  }
  if (values['list-baselines']) {
    return { type: 'list-baselines' }
  }
  return values.compare === undefined ? parseRun(values, positionals) : parseCompare(values, values.compare, positionals)
}

function parseCompare (values: Values, base: string, others: readonly string[]): CompareCommand {
  const judging = parseJudging(values)
  if (others.length === 0) {
    throw new RangeError(`--compare needs two saved results at least, received ${base}`)
  }
  if (others.length > 1 && judging.outputs.length > 0) {
    throw new RangeError('--compare writes files for two saved results only')
  }
  return { type: 'compare', base, others, ...judging }
}

function parseRun (values: Values, files: readonly string[]): RunCommand {
  for (const name of [values.baseline, values['save-baseline']]) {
    if (name !== undefined) {
      checkBaselineName(name)
    }
  }
  return {
    type: values.list ? 'list' : values.check ? 'check' : 'run',
    files,
    selection: { filters: (values.filter ?? []).map(parseFilter), conditions: (values.where ?? []).map(parseConditions) },
    amounts: parseAmounts(values),
    maxTimeMs: optionally(values['max-time'], seconds => parseNumber('--max-time', seconds, 0) * 1000),
    cellTimeoutMs: parseNumber('--cell-timeout', values['cell-timeout'] ?? '30', 0) * 1000,
    executor: optionally(values.executor, name => requireOneOf('--executor', name, ['benny', 'builtin'])),
    against: values.against,
    saveBaseline: values['save-baseline'],
    baseline: values.baseline,
    orderSeed: optionally(values['order-seed'], seed => parseNumber('--order-seed', seed, 0, true)),
    nodeFlags: values['node-flag'] ?? [],
    isMemoryMeasured: !values['no-memory'],
    ...parseJudging(values)
  }
}

function parseAmounts (values: Values): Amounts {
  const amounts = values.quick ? QUICK_AMOUNTS : DEFAULT_AMOUNTS
  const count = (name: 'processes' | 'rounds' | 'samples'): number => optionally(values[name], given => parseNumber(`--${name}`, given, 1, true)) ?? amounts[name]
  return {
    processes: count('processes'),
    rounds: count('rounds'),
    samples: count('samples'),
    minTimeMs: optionally(values['min-time'], given => parseNumber('--min-time', given, 0)) ?? amounts.minTimeMs,
    warmUpMs: optionally(values['warm-up'], given => parseNumber('--warm-up', given, 0)) ?? amounts.warmUpMs
  }
}

function parseJudging (values: Values): Judging {
  const outputs = FORMATS.flatMap(format => (values[format] ?? []).map((file): OutputFile => ({ format, file })))
  if (outputs.filter(({ file }) => file === '-').length > 1) {
    throw new RangeError('only one format can go to the standard output')
  }
  return {
    outputs,
    failOn: (values['fail-on'] ?? []).flatMap(parseFailOn),
    noise: parseNoise(values.noise ?? '2'),
    tolerance: parsePercent('--tolerance', values.tolerance ?? '5'),
    isMismatchAllowed: values['allow-mismatch'],
    isVerbose: values.verbose
  }
}

function optionally<Value> (given: string | undefined, parse: (text: string) => Value): Value | undefined {
  return given === undefined ? undefined : parse(given)
}
