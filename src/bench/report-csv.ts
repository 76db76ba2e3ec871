import { isMeasured } from './results.ts'
import type { Report, Result } from './report.ts'

const FIGURES = [
  'unit', 'low', 'mid', 'high', 'samples', 'baseline', 'ratio', 'ratio_low', 'ratio_high', 'p', 'verdict', 'bytes_per_iteration', 'error'
] as const

/** A line for each cell (RFC 4180), a column for each axis of any of them. */
export function renderCsv ({ results }: Report): string {
  const axes = [...new Set(results.flatMap(({ params }) => Object.keys(params)))]
  const lines = [['id', ...axes, ...FIGURES], ...results.map(result => [
    result.id, ...axes.map(axis => result.params[axis]), ...figuresOf(result)
  ])]
  return lines.map(fields => `${fields.map(escapeField).join(',')}\r\n`).join('')
}

type Field = string | number | boolean | undefined

function figuresOf (result: Result): Field[] {
  if (!isMeasured(result)) {
    const { stage, name, message } = result.error
    return [result.unit, ...Array.from({ length: FIGURES.length - 2 }, () => undefined), `${stage}: ${name}: ${message}`]
  }
  const { unit, low, mid, high, samples, baseline, bytesPerIteration } = result
  const name = baseline && ('id' in baseline ? baseline.id : baseline.name)
  return [
    unit, low, mid, high, samples.length, name, baseline?.ratio, baseline?.low, baseline?.high, baseline?.p, baseline?.verdict, bytesPerIteration, undefined
  ]
}

/** Text that a spreadsheet would take for a formula gets an apostrophe. */
function escapeField (field: Field): string {
  const text = field === undefined ? '' : typeof field === 'string' && /^[=+\-@]/.test(field) ? `'${field}` : String(field)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
