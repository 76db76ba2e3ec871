import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

const reports = process.env.TEST_REPORTS

export default defineConfig({
  test: {
    name: 'integration',
    include: ['test/integration/**/*.spec.ts'],
    setupFiles: ['test/support/polyfill.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ['default', ...(reports === undefined ? [] : [['json', { outputFile: join(reports, 'integration.json') }] as const])]
  }
})
