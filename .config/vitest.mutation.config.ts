import { defineConfig } from 'vitest/config'
import { specFiles } from './mutation.js'

export default defineConfig({
  test: {
    // Instrumented code is slow.
    testTimeout: 60_000,
    // Each mutant has a thread of its own, in which its specs share the modules.
    isolate: false,
    maxWorkers: 1,
    include: await specFiles()
  }
})
