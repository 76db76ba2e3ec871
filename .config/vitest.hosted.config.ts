import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

// The integration specs of what behaviours can do once more, where the host negotiates the streams: `SWARM_MODE` tells
// test/support/nodes.ts what to make. What a mode does not have, such as proposals of a raw stream, its specs skip by themselves.

/** Where `.ci/run` wants the figures of each run. */
const reports = process.env.TEST_REPORTS

const SPECS = ['back-pressure', 'behaviours', 'closing', 'identify', 'keep-alive', 'protocol-changes', 'streams', 'swarm']

function project (mode: string, specs: readonly string[]) {
  return {
    extends: true as const,
    test: { name: mode, include: specs.map((spec) => `test/integration/${spec}.spec.ts`), env: { SWARM_MODE: mode } }
  }
}

/** Prebuilt for some platforms; elsewhere it throws when it is loaded. */
async function isQuicThere (): Promise<boolean> {
  try {
    await import('@chainsafe/libp2p-quic')
    return true
  } catch (error) {
    console.warn(`QUIC is not tested here: ${String(error)}`)
    return false
  }
}

export default defineConfig(async () => ({
  test: {
    projects: [
      project('hosted', [...SPECS, 'dial', 'metrics', 'request-response', 'streams-behaviour']),
      project('mixed', [...SPECS, 'request-response', 'streams-behaviour']),
      ...await isQuicThere() ? [project('quic', [...SPECS, 'gates'])] : []
    ],
    setupFiles: ['test/support/polyfill.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: reports === undefined ? ['default'] : ['default', 'json'],
    outputFile: { json: join(reports ?? '', 'hosted.json') }
  }
}))
