/**
 * The specs that have to notice what `npm run mutation` changes, by folder of src: the examples, as each mutant runs all that
 * reach it, so neither properties nor the simulation nor the fuzz run. `MUTATE` names one folder; all of them otherwise.
 */
const SPECS: Readonly<Record<string, readonly string[]>> = {
  negotiation: ['test/negotiation/**/*.spec.ts', 'test/conformance/negotiation-cases.spec.ts'],
  protocols: ['test/protocols/**/*.spec.ts'],
  connection: [
    'test/connection/**/*.spec.ts', 'test/handler/**/*.spec.ts', 'test/testing/**/*.spec.ts', 'test/conformance/handler-compliance.spec.ts',
    'test/libp2p/swarm-metrics.spec.ts', 'test/swarm/swarm.spec.ts'
  ]
}

const folder = process.env.MUTATE

export const specs: readonly string[] = folder === undefined ? Object.values(SPECS).flat() : SPECS[folder] ?? []
