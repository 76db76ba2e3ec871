import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig, mergeConfig } from 'vitest/config'
import integration from './vitest.integration.config.ts'
import unit from './vitest.config.ts'

// One run of both suites, so that one report tells what either of them reached. Integration tests import the package by
// its name, which means dist elsewhere: here each entry leads to the source that it is built from.

const root = new URL('../', import.meta.url)
const { name, exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  name: string
  exports: Record<string, string | { import: string }>
}

const alias = Object.entries(exports).flatMap(([entry, target]) => typeof target === 'string'
  ? []
  : [{
      find: new RegExp(`^${name}${entry.slice(1)}$`),
      replacement: fileURLToPath(new URL(target.import.replace(/^\.\/dist\/(.*)\.js$/, 'src/$1.ts'), root))
    }])

export default defineConfig({
  test: {
    projects: [
      mergeConfig(unit, { test: { typecheck: { enabled: false } } }),
      mergeConfig(integration, { resolve: { alias } })
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/demo/**'],
      reporter: ['text', 'json-summary', 'html'],
      reportsDirectory: 'coverage',
      reportOnFailure: true,
      thresholds: { lines: 95, branches: 90 }
    }
  }
})
