import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const reports = process.env.TEST_REPORTS

/** The integration specs of what behaviours can do, as in `.config/vitest.hosted.config.ts`. */
const SPECS = [
  'back-pressure', 'behaviours', 'closing', 'dial', 'gates', 'identify', 'keep-alive', 'metrics', 'protocol-changes', 'request-response', 'streams',
  'streams-behaviour', 'swarm'
]

export default defineConfig({
  root: fileURLToPath(new URL('../../..', import.meta.url)),
  test: {
    name: 'webrtc',
    include: ['test/interop/webrtc.spec.ts', ...SPECS.map((spec) => `test/integration/${spec}.spec.ts`)],
    env: { SWARM_MODE: 'webrtc' },
    setupFiles: ['test/support/polyfill.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', ...reports == null ? [] : [['json', { outputFile: `${reports}/webrtc.json` }]]]
  }
})
