import type { ConnectionGater, MultiaddrConnection, PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { Direction } from '../core/ids.ts'

/** An answer to the host: true denies. */
export type Answer = boolean | Promise<boolean>

/** Who decides for the behaviours of a node. Each method is asked after the gater of the user, and only if that one allows. */
export interface GateKeeper {
  /** Somebody wants to dial `address`. */
  denyDial (address: Multiaddr): Answer
  /** A peer has opened `wire`; who it is will be known after the security handshake. */
  denyInbound (wire: MultiaddrConnection): Answer
  /** `wire` is about to become a connection to `peer`. */
  denyUpgraded (direction: Direction, peer: PeerId, wire: MultiaddrConnection): Answer
}

/** Gives a gater made by {@link gated} its keeper. */
const entrances = new WeakMap<ConnectionGater, { keeper: GateKeeper | undefined }>()

/**
 * A gater that asks `user`, and then the behaviours of the node that it was given to. For one node: see {@link keep}.
 *
 * Until it has a keeper it shows what `user` shows, so that a host that fills in a default of its own does so. What the
 * host sets is kept here; `user` is not written to.
 */
export function gated (user: ConnectionGater = {}): ConnectionGater {
  const entrance: { keeper: GateKeeper | undefined } = { keeper: undefined }
  const overrides = new Map<string | symbol, unknown>()
  const theirs = (key: string | symbol): unknown => overrides.has(key) ? overrides.get(key) : bound(user, key)
  const gater = new Proxy<ConnectionGater>({}, {
    get: (_, key) => {
      const hook = entrance.keeper === undefined ? undefined : HOOKS.get(key)
      return hook === undefined ? theirs(key) : askBoth(theirs(key), hook(entrance.keeper as GateKeeper))
    },
    set: (_, key, value) => {
      overrides.set(key, value)
      return true
    },
    has: (_, key) => theirs(key) !== undefined || (entrance.keeper !== undefined && HOOKS.has(key))
  })
  entrances.set(gater, entrance)
  return gater
}

/**
 * Puts `keeper` behind a gater of {@link gated}; false for any other gater, and for one that another node has taken.
 */
export function keep (gater: ConnectionGater, keeper: GateKeeper): boolean {
  const entrance = entrances.get(gater)
  if (entrance === undefined || entrance.keeper !== undefined) {
    return false
  }
  entrance.keeper = keeper
  return true
}

type Hook = (...args: never[]) => Answer

/** Where the gates sit in the host (S7.7). */
const HOOKS: ReadonlyMap<string | symbol, (keeper: GateKeeper) => Hook> = new Map<string, (keeper: GateKeeper) => Hook>([
  ['denyDialMultiaddr', (keeper) => (address: Multiaddr) => keeper.denyDial(address)],
  ['denyInboundConnection', (keeper) => (wire: MultiaddrConnection) => keeper.denyInbound(wire)],
  ['denyInboundUpgradedConnection', (keeper) => (peer: PeerId, wire: MultiaddrConnection) => keeper.denyUpgraded('inbound', peer, wire)],
  ['denyOutboundUpgradedConnection', (keeper) => (peer: PeerId, wire: MultiaddrConnection) => keeper.denyUpgraded('outbound', peer, wire)]
])

/** The user's gater first: what it denies, no behaviour hears of. */
function askBoth (theirs: unknown, ours: Hook): Hook {
  if (typeof theirs !== 'function') {
    return ours
  }
  return (...args) => {
    const denied: unknown = Reflect.apply(theirs, undefined, args)
    return typeof denied === 'boolean' ? denied || ours(...args) : askLater(denied, () => ours(...args))
  }
}

async function askLater (denied: unknown, ours: () => Answer): Promise<boolean> {
  return await denied === true || await ours()
}

/** A method of the user's gater may have private fields, which a proxy does not show. */
function bound (user: ConnectionGater, key: string | symbol): unknown {
  const value: unknown = Reflect.get(user, key, user)
  return typeof value === 'function' ? value.bind(user) as unknown : value
}
