import { kindOf } from '../core/options.ts'
import { gated } from './connection-gater.ts'
import { negotiated } from './negotiated-muxer.ts'
import { swarm } from './service.ts'
import type { ServiceMap } from '@libp2p/interface'
import type { Libp2pOptions, ServiceFactoryMap } from 'libp2p'
import type { Behaviours } from '../behaviour/network-behaviour.ts'
import type { Swarm } from './swarm-api.ts'
import type { SwarmInit } from './swarm-options.ts'

type HostComponents = Parameters<ServiceFactoryMap<{ any: unknown }>['any']>[0]

/** Options of a node; its services may ask for `swarm` among their components, and keep their types. */
export type WithSwarmOptions<Services extends ServiceMap, Parts extends Behaviours> = Omit<Libp2pOptions<Services>, 'services'> & {
  /** As for `createLibp2p`; each factory may also ask for `swarm`. */
  services?: { [Key in keyof Services]: (components: HostComponents & Services & { swarm: Swarm<Parts> }) => Services[Key] } | undefined
}

/**
 * Plugs behaviours into a node: wraps its stream muxers and its connection gater, and puts the service `swarm` before its
 * other services, so that it hears of a connection first. The node needs identify: the stock service, or the behaviour of `./identify`.
 *
 * @param options - the options of the node, as for `createLibp2p`; not changed
 * @param init - the behaviours, and options; see {@link SwarmInit}
 * @throws TypeError when `options` or `init` is missing, or the node has a service named `swarm`
 * @throws TypeError or RangeError for an option that does not exist or is out of its range
 * @example
 * const node = await createLibp2p(withSwarm({
 *   transports: [tcp()],
 *   connectionEncrypters: [noise()],
 *   streamMuxers: [yamux()],
 *   services: { identify: identify(), identifyPush: identifyPush() }
 * }, { behaviours: { ping: ping() } }))
 */
export function withSwarm<Services extends ServiceMap, const Parts extends Behaviours> (
  options: WithSwarmOptions<Services, Parts>, init: SwarmInit<Parts>
): Libp2pOptions<Services & { swarm: Swarm<Parts> }> {
  checkOptions(options)
  const { services = {}, streamMuxers = [], connectionGater, ...rest } = options
  if ('swarm' in services) {
    throw new TypeError('Cannot plug the swarm in: the node has a service named "swarm" already')
  }
  type Joined = Services & { swarm: Swarm<Parts> }
  return {
    ...rest,
    // Read once per node: nodes of the same options have gates of their own.
    get connectionGater () {
      return gated(connectionGater)
    },
    streamMuxers: streamMuxers.map((muxer) => negotiated(muxer)),
    // That two records joined have the keys of both is lost on a mapped type over a type parameter.
    services: { swarm: swarm(init), ...services } as unknown as ServiceFactoryMap<Joined>
  }
}

function checkOptions (options: unknown): void {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`Cannot plug the swarm in: the options of the node must be an object, received ${kindOf(options)}`)
  }
}
