import { REPORT_SCHEMA } from './report.ts'
import type { Report } from './report.ts'

/** What a value of a report must be: `typeof`, a list of such, or an object with such. Unknown keys are left alone. */
type Shape = 'string' | 'number' | 'scalar' | readonly [Shape] | { readonly [key: string]: Shape }

const ENVIRONMENT: Shape = {
  node: 'string', v8: 'string', cpu: 'string', executor: 'string', package: 'string', flags: ['string'], seeds: ['number'], orderSeed: 'number'
}
const COMMON: Shape = { id: 'string' }
const MEASURED: Shape = {
  low: 'number', mid: 'number', high: 'number', samples: ['number'], notes: ['string'],
  rounds: [{ seed: 'number', round: 'number', order: 'number', from: 'number', to: 'number' }]
}
const FAILED: Shape = { error: { stage: 'string', name: 'string', message: 'string' } }
const CONTROLS: { readonly fixed: Shape } = { fixed: { low: 'number', mid: 'number', high: 'number' } }
const REPORT: Shape = {
  startedAt: 'string', durationMs: 'number', environment: ENVIRONMENT, results: [COMMON], claims: [{ kind: 'string', state: 'string' }],
  options: { processes: 'number', rounds: 'number', samples: 'number', noise: 'number', tolerance: 'number' },
  controls: CONTROLS
}

/**
 * Reads a report that was saved.
 *
 * @param name - for messages
 * @throws Error with one line for the user when it is none, or of another schema
 */
export function parseReport (text: string, name: string): Report {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw new Error(`Cannot read ${name}: it is no JSON`)
  }
  const schema = member(parsed, 'schema')
  if (schema !== REPORT_SCHEMA) {
    throw new Error(`Cannot read ${name}: its schema must be ${REPORT_SCHEMA}, received ${JSON.stringify(schema)}`)
  }
  check(name, 'report', parsed, REPORT)
  const results = member(parsed, 'results')
  if (Array.isArray(results)) {
    results.forEach((result: unknown, index) => {
      check(name, `results[${index}]`, result, member(result, 'error') === undefined ? MEASURED : FAILED)
      check(name, `results[${index}].params`, Object.values(member(result, 'params') ?? {}), ['scalar'])
    })
  }
  return parsed as Report
}

function check (name: string, path: string, value: unknown, shape: Shape): void {
  if (isList(shape)) {
    if (!Array.isArray(value)) {
      throw new Error(`Cannot read ${name}: ${path} must be a list`)
    }
    value.forEach((element: unknown, index) => { check(name, `${path}[${index}]`, element, shape[0]) })
  } else if (typeof shape === 'object') {
    for (const [key, inner] of Object.entries(shape)) {
      check(name, `${path}.${key}`, member(value, key), inner)
    }
  } else if (!isOf(shape, value)) {
    throw new Error(`Cannot read ${name}: ${path} must be a ${shape}, received ${typeof value}`)
  }
}

function isList (shape: Shape): shape is readonly [Shape] {
  return Array.isArray(shape)
}

function isOf (shape: 'string' | 'number' | 'scalar', value: unknown): boolean {
  return shape === 'scalar' ? ['string', 'number', 'boolean'].includes(typeof value) : typeof value === shape
}

function member (value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? new Map<string, unknown>(Object.entries(value)).get(key) : undefined
}
