import { isMeasured } from './results.ts'
import type { Report } from './report.ts'

/** Something that makes a run fail. */
export type FailCondition =
  /** A cell regressed, by more than this fraction. */
  | { readonly type: 'regressed', readonly by: number }
  /** It cannot be told whether a cell changed. */
  | { readonly type: 'inconclusive' }
  /** A claim is broken. */
  | { readonly type: 'claims' }

/** What of a report makes a run fail, one line each; none when it passes. */
export function failuresOf ({ results, claims }: Report, conditions: readonly FailCondition[]): string[] {
  const comparisons = results.filter(isMeasured).flatMap(({ id, baseline }) => baseline === undefined ? [] : [{ cell: id, ...baseline }])
  return conditions.flatMap((condition) => {
    switch (condition.type) {
      case 'regressed':
        return comparisons
          .filter(({ verdict, ratio }) => verdict === 'regressed' && ratio > 1 + condition.by)
          .map(({ cell }) => `regressed: ${cell}`)
      case 'inconclusive':
        return comparisons.filter(({ verdict }) => verdict === 'inconclusive').map(({ cell }) => `inconclusive: ${cell}`)
      case 'claims':
        return claims.filter(({ state }) => state === 'broken').map(({ kind, where }) => `broken claim: ${kind} of ${JSON.stringify(where)}`)
    }
  })
}
