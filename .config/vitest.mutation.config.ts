import { defineConfig } from 'vitest/config'

/** Only what is mutated, and quick: neither the simulation nor the fuzz run, whose findings the specs have as examples. */
export default defineConfig({
  test: {
    // Instrumented code is slow.
    testTimeout: 60_000,
    include: ['test/{connection,negotiation,protocols,conformance,testing}/**/*.spec.ts', 'test/property/{diff-local,diff-remote,negotiation,negotiation-codec}.spec.ts']
  }
})
