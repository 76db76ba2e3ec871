import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { Counts } from './counts.js'

const built = (path) => fileURLToPath(new URL(`../../dist/${path}`, import.meta.url))
const reports = process.env.TEST_REPORTS

export default defineConfig({
  resolve: {
    // What ships, not a copy of it from a registry.
    alias: [
      { find: /^libp2p-behaviours$/, replacement: built('index.js') },
      { find: /^libp2p-behaviours\/ping$/, replacement: built('behaviours/ping.js') }
    ]
  },
  test: {
    include: ['*.spec.js'],
    setupFiles: ['./setup.js'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    reporters: ['default', new Counts(), ...reports == null ? [] : [['json', { outputFile: `${reports}/compliance.json` }]]]
  }
})
