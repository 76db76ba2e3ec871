/**
 * The specs that have to notice what `npm run mutation` changes, by folder of src: the quick ones, so neither the simulation
 * nor the fuzz run. `MUTATE` names one folder; all of them otherwise.
 */
const SPECS: Readonly<Record<string, readonly string[]>> = {
  negotiation: ['test/negotiation/**/*.spec.ts', 'test/conformance/negotiation-cases.spec.ts', 'test/property/negotiation{,-codec}.spec.ts'],
  protocols: ['test/protocols/**/*.spec.ts', 'test/property/diff-{local,remote}.spec.ts'],
  connection: ['test/connection/**/*.spec.ts', 'test/testing/**/*.spec.ts', 'test/conformance/handler-compliance.spec.ts']
}

const folder = process.env.MUTATE

export const specs: readonly string[] = folder === undefined ? Object.values(SPECS).flat() : SPECS[folder] ?? []
