import { defineConfig } from 'vitest/config'
import { specs } from './mutation.ts'

export default defineConfig({
  test: {
    // Instrumented code is slow.
    testTimeout: 60_000,
    include: [...specs]
  }
})
