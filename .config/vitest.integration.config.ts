import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Where `.ci/run` wants the figures of each run. */
const reports = process.env.TEST_REPORTS

export default defineConfig({
  test: {
    name: 'integration',
    include: ['test/integration/**/*.spec.ts'],
    setupFiles: ['test/support/polyfill.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: reports === undefined ? ['default'] : ['default', 'json'],
    outputFile: { json: join(reports ?? '', 'integration.json') }
  }
})
