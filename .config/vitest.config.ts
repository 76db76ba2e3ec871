import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Where `.ci/run` wants the figures of each run. */
const reports = process.env.TEST_REPORTS

export default defineConfig({
  test: {
    name: 'unit',
    include: ['test/**/*.spec.ts'],
    exclude: ['test/integration/**', 'test/compliance/**', 'test/interop/**'],
    typecheck: {
      enabled: true,
      include: ['test/types/**/*.test-d.ts'],
      tsconfig: 'test/tsconfig.json',
      // `npm run typecheck` reports the errors of everything else.
      ignoreSourceErrors: true
    },
    reporters: reports === undefined ? ['default'] : ['default', 'json'],
    outputFile: { json: join(reports ?? '', 'unit.json') }
  }
})
