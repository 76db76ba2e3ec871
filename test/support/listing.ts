import { LocalProtocols } from '../../src/protocols/local-protocols.ts'
import type { ListingSnapshot } from '../../src/protocols/listing-snapshot.ts'

/** What a listener may agree on, made as a connection makes it: invalid names are left out. */
export function listing (...names: string[]): ListingSnapshot {
  const protocols = new LocalProtocols({ maxProtocols: Infinity, maxNameBytes: 16_382 })
  protocols.update(names, [])
  return protocols.snapshot()
}
