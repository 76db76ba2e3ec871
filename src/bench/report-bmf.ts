import { isMeasured } from './results.ts'
import type { Report } from './report.ts'

/** Bencher Metric Format: latency in nanoseconds with absolute bounds; failed cells are left out. */
export function renderBmf ({ results }: Report): string {
  const metrics = results.filter(isMeasured).map(({ id, low, mid, high, bytesPerIteration }) => [id, {
    latency: { value: mid, lower_value: low, upper_value: high },
    ...(bytesPerIteration === undefined ? {} : { 'allocated-bytes': { value: bytesPerIteration } })
  }])
  return `${JSON.stringify(Object.fromEntries(metrics), undefined, 2)}\n`
}
