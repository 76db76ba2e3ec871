import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const built = (path) => fileURLToPath(new URL(`../../../dist/${path}`, import.meta.url))
const reports = process.env.TEST_REPORTS

export default defineConfig({
  resolve: {
    alias: [
      { find: /^libp2p-behaviours$/, replacement: built('index.js') },
      { find: /^libp2p-behaviours\/(ping|identify)$/, replacement: built('behaviours/$1.js') }
    ]
  },
  test: {
    name: 'interop',
    include: ['*.spec.js'],
    setupFiles: ['core-js/stable/promise/with-resolvers.js'],
    // Cells wait for timers of the peer, not for the machine.
    maxConcurrency: 20,
    testTimeout: 60_000,
    reporters: ['default', ...reports == null ? [] : [['json', { outputFile: `${reports}/interop.json` }]]]
  }
})
