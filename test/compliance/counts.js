/** How many tests the suites of @libp2p/interface-compliance-tests 7.0.16 have. */
const MUXER_TESTS = 46
const TRANSPORT_TESTS = 15

/** Top-level suite -> tests that must pass. */
const expected = new Map([
  ['stream muxer: stock yamux', MUXER_TESTS],
  ['stream muxer: stock mplex', MUXER_TESTS],
  ['stream muxer: wrapped yamux', MUXER_TESTS],
  ['stream muxer: wrapped mplex', MUXER_TESTS],
  ['transport: stock tcp', TRANSPORT_TESTS],
  ['transport: stock memory', TRANSPORT_TESTS],
  ['transport: wrapped tcp', TRANSPORT_TESTS],
  ['transport: wrapped memory', TRANSPORT_TESTS],
  ['transport: lazy tcp', TRANSPORT_TESTS],
  ['transport: lazy memory', TRANSPORT_TESTS]
])

/** Fails the run when a suite did not pass exactly the tests it has: one that shrinks silently proves nothing. */
export class Counts {
  onTestRunEnd (modules) {
    const passed = new Map()
    for (const module of modules) {
      for (const suite of module.children.suites()) {
        passed.set(suite.name, [...suite.children.allTests('passed')].length)
      }
    }
    for (const name of new Set([...expected.keys(), ...passed.keys()])) {
      const wanted = expected.get(name) ?? 0
      const got = passed.get(name) ?? 0
      console.log(`${wanted === got ? 'as many as expected' : 'WRONG COUNT'}: ${name}: ${got} of ${wanted}`)
      if (wanted !== got) {
        process.exitCode = 1
      }
    }
  }
}
