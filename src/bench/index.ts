/**
 * A matrix of benchmarks over named axes, measured honestly: every cell in an isolate of its own, interleaved, in several
 * processes, with a proof of its work; figures with intervals, changes with a verdict.
 *
 * ```ts
 * // benches/look-up.bench.ts, run by `npx behaviours-bench`
 * import { matrix } from 'libp2p-behaviours/bench'
 *
 * export default matrix({
 *   name: 'look-up',
 *   axes: { size: [10, 100, 1000] },
 *   setup: ({ size }) => new Set(Array.from({ length: size }, (_, index) => `name-${index}`)),
 *   run: (names, iterations) => {
 *     let found = 0
 *     for (let left = iterations; left > 0; left--) {
 *       found += names.has('name-0') ? 1 : 0
 *     }
 *     return found
 *   },
 *   verify: (_, { iterations, checksum }) => checksum === iterations
 * })
 * ```
 *
 * @packageDocumentation
 */

export { main } from './cli.ts'
export { matrix } from './matrix.ts'
export type { Axes, AxisValue, Cell, CellPart, NumberAxis } from './axes.ts'
export type { Band, BytesClaim, Claim, Matrix, MatrixInit, RatioClaim, SlopeClaim, Work } from './matrix.ts'
export type {
  Change, Claimed, Comparison, Controls, Environment, Failed, FailedStage, Measured, Params, Report, ReportOptions, Result, Round, Verdict
} from './report.ts'
