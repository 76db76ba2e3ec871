// node .ci/totals.js FOLDER FAILED_STEPS
// Names what failed in the vitest reports below a folder, adds them up and prints `N passed, N failed`, alone on its line;
// failed steps count as failed. The exit code is 0 only when tests ran and nothing failed.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder, failedSteps] = process.argv.slice(2)
const total = { passed: 0, failed: Number(failedSteps), skipped: 0 }

const reports = existsSync(folder) ? readdirSync(folder, { recursive: true }).filter((file) => file.endsWith('.json')).sort() : []
for (const file of reports) {
  const report = JSON.parse(readFileSync(join(folder, file), 'utf8'))
  // A file that could not even be loaded has no test that failed.
  const broken = report.testResults.filter(({ status, assertionResults }) =>
    status === 'failed' && !assertionResults.some((result) => result.status === 'failed')).length
  const failed = report.numFailedTests + broken
  for (const { name, status, message, assertionResults } of report.testResults) {
    if (status === 'failed' && message !== '') {
      console.log(`failed: ${name}: ${message}`)
    }
    for (const { fullName, failureMessages } of assertionResults.filter((result) => result.status === 'failed')) {
      console.log(`failed: ${fullName}: ${failureMessages.join('; ').slice(0, 1000)}`)
    }
  }
  const skipped = report.numPendingTests + report.numTodoTests
  console.log(`${file.replace(/\.json$/, '')}: ${report.numPassedTests} passed, ${failed} failed, ${skipped} skipped`)
  total.passed += report.numPassedTests
  total.failed += failed
  total.skipped += skipped
}

console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}`)
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0
