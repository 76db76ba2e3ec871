import { significant } from './format.ts'
import { isMeasured } from './results.ts'
import type { Report } from './report.ts'

/** `customSmallerIsBetter` of github-action-benchmark; failed cells are left out. */
export function renderGha ({ results }: Report): string {
  const entries = results.filter(isMeasured).map(({ id, low, mid, high, samples }) => ({
    name: id, unit: 'ns/iteration', value: mid, range: `± ${significant((high - low) / 2)}`, extra: `n=${samples.length}`
  }))
  return `${JSON.stringify(entries, undefined, 2)}\n`
}
