import { declaredBy } from '../behaviour/joined-listing.ts'
import { IDENTIFY_PROTOCOL, IDENTIFY_PROTOCOLS } from '../behaviours/identify-protocols.ts'
import { InvalidStateError } from '../errors.ts'
import type { AnyBehaviour } from '../behaviour/network-behaviour.ts'

/** What the stock services are called among those of a node. */
const STOCK_CAPABILITIES: readonly string[] = ['@libp2p/identify', '@libp2p/identify-push']

/** Services of the host that a swarm needs, and those in whose place it stands. */
export interface IdentifyRole {
  readonly capabilities: readonly string[]
  readonly dependencies: readonly string[]
}

/** Without identify among its behaviours a swarm needs the stock service; with it, it is that service for all others. */
export function identifyRole (root: AnyBehaviour): IdentifyRole {
  return declaredBy(root).includes(IDENTIFY_PROTOCOL)
    ? { capabilities: STOCK_CAPABILITIES, dependencies: [] }
    : { capabilities: [], dependencies: STOCK_CAPABILITIES.slice(0, 1) }
}

/**
 * Two services that answer under one name would each tell half of it, and ask every peer twice.
 *
 * @param root - the behaviours
 * @param isForeign - whether another service of the node registered a name
 * @throws InvalidStateError when both the behaviours and the node have identify
 */
export function refuseSecondIdentify (root: AnyBehaviour, isForeign: (protocol: string) => boolean): void {
  const declared = declaredBy(root)
  for (const protocol of IDENTIFY_PROTOCOLS) {
    if (declared.includes(protocol) && isForeign(protocol)) {
      throw new InvalidStateError(`Cannot start: a behaviour and a service of the node both serve "${protocol}", `
        + 'remove either the behaviour, or the services identify() and identifyPush()')
    }
  }
}
