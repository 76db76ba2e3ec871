/**
 * The runner of `npm run mutation`: it bundles the specs once, and gives each mutant modules of its own by evaluating the bundle
 * again. Most of the time of a mutant went into starting a thread and loading modules there; this way it is that of its tests.
 * `describe`, `it` and `beforeEach` are a few lines here, all else of vitest is its own. It knows what the specs of these folders
 * use of them: no skipped tests, no other hooks.
 */

import { performance } from 'node:perf_hooks'
import { clearTimeout, setImmediate, setTimeout } from 'node:timers'
import { format } from 'node:util'
import { Script } from 'node:vm'
import { INSTRUMENTER_CONSTANTS } from '@stryker-mutator/api/core'
import { TestStatus, determineHitLimitReached, toMutantRunResult } from '@stryker-mutator/api/test-runner'
import { build } from 'esbuild'
import { specFiles } from './mutation.js'

/** A mutant that loops must not hold up the others: so many times the processor time that the test takes, and this on top. */
const TIME_FACTOR = 4
const EXTRA_MS = 400
/** For the run that measures. */
const LONG_MS = 600_000
/** For a promise that a mutant leaves open. */
const OPEN_MS = 20_000
const TIMED_OUT = 'ERR_SCRIPT_EXECUTION_TIMEOUT'
const BODY = 'stryker.body'
/** The one way to end a loop from outside. */
const call = new Script(`globalThis['${BODY}']()`)

/** One run of specs: its modules are fresh. */
class SpecRun {
  tests = []
  #suite = { path: [], hooks: [] }
  #names = new Map()
  #evaluate
  #packages

  constructor (evaluate, packages) {
    this.#evaluate = evaluate
    this.#packages = packages
  }

  /** Loads specs; their tests are those of the given ids, or all. */
  collect (files, ids) {
    const module = { exports: {} }
    this.#evaluate(module, name => name === 'vitest' ? this.#vitest : this.#packages.get(name))
    for (const file of files) {
      this.#suite = { path: [file], hooks: [] }
      module.exports[file]()
    }
    if (ids !== undefined) {
      this.tests = this.tests.filter(({ id }) => ids.has(id))
    }
  }

  /** Runs one test; returns what it failed with. */
  async run ({ hooks, body }, timeout) {
    try {
      for (const step of [...hooks, body]) {
        globalThis[BODY] = step
        const result = call.runInThisContext({ timeout })
        if (typeof result?.then === 'function') {
          await settledInTime(result)
        }
      }
      return undefined
    } catch (thrown) {
      return thrown instanceof Error ? thrown : new Error(format('thrown: %s', thrown))
    }
  }

  get #vitest () {
    const describe = (name, body) => {
      const outer = this.#suite
      this.#suite = { path: [...outer.path, name], hooks: [...outer.hooks] }
      body()
      this.#suite = outer
    }
    const it = (name, body) => {
      const { path, hooks } = this.#suite
      const title = [...path, name].join(' > ')
      const count = (this.#names.get(title) ?? 0) + 1
      this.#names.set(title, count)
      this.tests.push({ id: count === 1 ? title : `${title} (${count})`, file: path[0], hooks, body })
    }
    describe.each = each(describe)
    it.each = each(it)
    return { ...this.#packages.get('vitest'), describe, it, test: it, beforeEach: hook => { this.#suite.hooks.push(hook) } }
  }
}

/** `each` of `describe` and `it`: a row that is an array is the arguments. */
function each (define) {
  return rows => (name, body) => {
    for (const row of rows) {
      const values = Array.isArray(row) ? row : [row]
      define(format(name, ...values), () => body(...values))
    }
  }
}

async function settledInTime (promise) {
  let timer
  try {
    await Promise.race([promise, new Promise((_resolve, reject) => {
      timer = setTimeout(() => { reject(new Error('The test takes too long')) }, OPEN_MS)
    })])
  } finally {
    clearTimeout(timer)
  }
}

class SpecTestRunner {
  /** What it shares with the instrumented code. */
  #globals = globalThis[INSTRUMENTER_CONSTANTS.NAMESPACE] ??= {}
  #files = []
  #evaluate
  #packages = new Map()
  /** How many mutants each test has killed. */
  #kills = new Map()
  /** The processor time of each test, in milliseconds. */
  #times = new Map()
  #unhandled = []

  capabilities () {
    return { reloadEnvironment: true }
  }

  async init () {
    process.env.NODE_ENV = 'test'
    process.on('unhandledRejection', reason => { this.#unhandled.push(reason) })
    const files = await specFiles()
    const { outputFiles: [bundle], metafile } = await build({
      stdin: { contents: `module.exports = {${files.map(file => `'${file}': () => require('./${file}')`).join()}}`, resolveDir: process.cwd() },
      bundle: true, write: false, metafile: true, platform: 'node', format: 'cjs', target: 'node20', packages: 'external', keepNames: true, logLevel: 'silent'
    })
    const [{ imports }] = Object.values(metafile.outputs)
    const names = imports.filter(({ external }) => external).map(({ path }) => path)
    for (const name of new Set(names)) {
      this.#packages.set(name, { ...await import(name) })
    }
    this.#evaluate = new Script(`(module, require) => { ${bundle.text}\n}`, { filename: 'specs.js' }).runInThisContext()
    this.#files = files
  }

  async dryRun () {
    this.#activate(undefined)
    this.#globals.mutantCoverage = undefined
    const result = await this.#run(this.#files, undefined, undefined, false)
    for (const { id, cpuMs } of result.tests) {
      this.#times.set(id, cpuMs)
    }
    return { ...result, mutantCoverage: this.#globals.mutantCoverage }
  }

  async mutantRun ({ activeMutant, mutantActivation, testFilter, hitLimit, disableBail }) {
    const ids = testFilter === undefined ? undefined : new Set(testFilter)
    const files = ids === undefined ? this.#files : this.#files.filter(file => testFilter.some(id => id.startsWith(`${file} > `)))
    this.#activate(mutantActivation === 'static' ? activeMutant.id : undefined, hitLimit)
    const result = await this.#run(files, ids, () => { this.#globals.activeMutant = activeMutant.id }, !disableBail)
    const hits = this.#globals.hitCount
    this.#activate(undefined)
    for (const { id } of result.tests?.filter(({ status }) => status === TestStatus.Failed) ?? []) {
      this.#kills.set(id, (this.#kills.get(id) ?? 0) + 1)
    }
    return toMutantRunResult(determineHitLimitReached(hits, hitLimit) ?? result)
  }

  /** Runs a test until it is over, or has had its share of processor time, which is all that says something on a busy machine. */
  async #try (run, test) {
    const time = this.#times.get(test.id)
    const share = time === undefined ? LONG_MS : Math.round(TIME_FACTOR * time) + EXTRA_MS
    for (let timeout = share; ; timeout *= 2) {
      const begin = process.cpuUsage()
      const error = await run.run(test, timeout)
      const { user, system } = process.cpuUsage(begin)
      const cpuMs = (user + system) / 1000
      if (error?.code !== TIMED_OUT || cpuMs > share / 2) {
        return { error, cpuMs }
      }
    }
  }

  /** How many mutants a test kills in so much time; all the same in the run that measures. */
  #worthOf ({ id }) {
    const time = this.#times.get(id)
    return time === undefined ? 0 : (1 + (this.#kills.get(id) ?? 0)) / (1 + time)
  }

  #activate (mutant, hitLimit) {
    this.#globals.activeMutant = mutant
    this.#globals.hitLimit = hitLimit
    this.#globals.hitCount = hitLimit === undefined ? undefined : 0
  }

  /** Loads the specs, calls `loaded`, and runs their tests, until one fails if `bails`. */
  async #run (files, ids, loaded, bails) {
    const run = new SpecRun(this.#evaluate, this.#packages)
    this.#unhandled.length = 0
    try {
      run.collect(files, ids)
    } catch (thrown) {
      return { status: 'complete', tests: [{ id: 'loading', name: 'loading', timeSpentMs: 0, status: TestStatus.Failed, failureMessage: format('%s', thrown) }] }
    }
    loaded?.()
    const tests = []
    const worths = new Map(run.tests.map(test => [test, this.#worthOf(test)]))
    for (const test of run.tests.sort((left, right) => worths.get(right) - worths.get(left))) {
      const begin = performance.now()
      this.#globals.currentTestId = test.id
      const { error, cpuMs } = await this.#try(run, test)
      this.#globals.currentTestId = undefined
      if (error?.code === TIMED_OUT) {
        return { status: 'timeout', reason: `${test.id} takes too long` }
      }
      const result = { id: test.id, name: test.id, fileName: test.file, timeSpentMs: performance.now() - begin, cpuMs }
      tests.push(error === undefined ? { ...result, status: TestStatus.Success } : { ...result, status: TestStatus.Failed, failureMessage: error.message })
      if (error !== undefined && bails) {
        break
      }
    }
    await new Promise(resolve => { setImmediate(resolve) })
    const isFailed = tests.some(({ status }) => status === TestStatus.Failed)
    return this.#unhandled.length > 0 && !isFailed
      ? { status: 'error', errorMessage: format('A rejection that nobody handles: %s', this.#unhandled[0]) }
      : { status: 'complete', tests }
  }
}

export const strykerPlugins = [{ kind: 'TestRunner', name: 'specs', factory: () => new SpecTestRunner() }]
