import { readdir } from 'node:fs/promises'

/**
 * The specs that have to notice what `npm run mutation` changes, by folder of src: the examples, as each mutant runs all that
 * reach it, so neither properties nor the simulation nor the fuzz run. `MUTATE` names one folder; all of them otherwise. What
 * is near the code and quick comes first, as the first failure is the end of a mutant.
 */
const SPECS = {
  negotiation: ['test/negotiation', 'test/conformance/negotiation-cases.spec.ts'],
  protocols: ['test/protocols'],
  connection: [
    'test/connection', 'test/handler', 'test/testing', 'test/libp2p/swarm-metrics.spec.ts', 'test/swarm/swarm.spec.ts'
  ]
}

/** Those that try many inputs. */
const SLOW = /\/(?:limits|one-outcome|reports|varint|floods)\./

/** @returns {Promise<string[]>} the specs in the order in which they are to run */
export async function specFiles () {
  const folder = process.env.MUTATE
  const places = folder === undefined ? Object.values(SPECS).flat() : SPECS[folder] ?? []
  const found = await Promise.all(places.map(async place => place.endsWith('.ts') ? [place] : (await readdir(place, { recursive: true })).map(name => `${place}/${name}`)))
  const files = found.flat().filter(name => name.endsWith('.spec.ts'))
  return [...files.filter(name => !SLOW.test(name)), ...files.filter(name => SLOW.test(name))]
}
