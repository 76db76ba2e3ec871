import 'core-js/stable/promise/with-resolvers.js'
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest'

// The suites are written for mocha: its globals, and a `this` with its methods.

const inert = { timeout: () => inert, slow: () => inert, retries: () => inert }

const suite = (run) => (title, body) => run(title, () => body.call(inert))

const test = (run) => (title, body) => body == null
  ? it.todo(title)
  : run(title, (context) => body.call({ ...inert, skip: () => context.skip() }))

const hook = (run) => (...args) => run(() => args.at(-1).call(inert))

Object.assign(globalThis, {
  describe: Object.assign(suite(describe), { skip: suite(describe.skip), only: suite(describe.only) }),
  it: Object.assign(test(it), { skip: test(it.skip), only: test(it.only) }),
  before: hook(beforeAll),
  after: hook(afterAll),
  beforeEach: hook(beforeEach),
  afterEach: hook(afterEach)
})
