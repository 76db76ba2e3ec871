import { fileURLToPath } from 'node:url'

/**
 * Mutation tests: `npm run mutation`, or one folder by `MUTATE=negotiation npm run mutation`, one file by `-- --mutate FILE`.
 * `MUTATION_RUNNER=vitest` runs the specs as `npm test` does, which takes several times as long and comes to the same.
 */
const folder = process.env.MUTATE ?? '{connection,negotiation,protocols}'

export default {
  mutate: [`src/${folder}/**/*.ts`, '!src/**/index.ts'],
  testRunner: process.env.MUTATION_RUNNER ?? 'specs',
  plugins: [fileURLToPath(new URL('mutation-runner.js', import.meta.url)), '@stryker-mutator/vitest-runner'],
  vitest: { configFile: '.config/vitest.mutation.config.ts' },
  ignorePatterns: ['dist', 'docs', 'coverage', 'test/compliance', 'benches'],
  tempDirName: 'coverage/mutants',
  reporters: ['clear-text', 'progress-append-only', 'html', 'json'],
  clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false, reportTests: false },
  htmlReporter: { fileName: 'coverage/mutation/index.html' },
  jsonReporter: { fileName: 'coverage/mutation/report.json' },
  concurrency: 1,
  thresholds: { high: 95, low: 85, break: 85 }
}
