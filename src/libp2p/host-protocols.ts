import { brokenProtocolRule, MAX_PROTOCOL_BYTES } from '../protocols/stream-protocol.ts'
import { ProtocolList } from '../protocols/protocol-list.ts'
import { RegistrarNames } from './registrar-names.ts'
import type { StreamHandler } from '@libp2p/interface'
import type { Registrar } from '@libp2p/interface-internal'
import type { HostProtocols } from '../connection/connection.ts'

/**
 * The names that the node's other services registered, one list for all connections of a node. Entries of ours are not
 * among them (S3.22), told by their handler, so that one which a service took over by force is the service's.
 */
export class HostProtocolFeed implements HostProtocols {
  readonly list: ProtocolList = new ProtocolList()
  /** Handles our entries in the registrar, and tells them from those of others. */
  readonly serve: StreamHandler
  readonly #foreign: RegistrarNames
  /** What {@link list} was made from last. */
  #seen: ReadonlySet<string> | undefined
  #names: ReadonlySet<string> = new Set()

  /**
   * @param registrar - of the node
   * @param serve - for our own entries
   */
  constructor (registrar: Registrar, serve: StreamHandler) {
    this.serve = serve
    this.#foreign = new RegistrarNames(registrar, handler => handler === serve)
  }

  /** Brings the list up to the registrar. Names against S3.1 stay out of it; {@link offers} still answers for them. */
  refresh (): void {
    const { all } = this.#foreign
    if (all !== this.#seen) {
      this.#seen = all
      this.list.replace([...all].filter(name => brokenProtocolRule(name, MAX_PROTOCOL_BYTES) === undefined))
      this.#names = new Set(this.list.snapshot)
    }
  }

  /** Whether {@link list} has `protocol`. */
  has (protocol: string): boolean {
    return this.#names.has(protocol)
  }

  /** The last chance of a name that the list lacks: a peer store from an earlier run may announce a new service without an event. */
  offers (protocol: string): boolean {
    const isOffered = this.isForeign(protocol)
    if (isOffered) {
      this.refresh()
    }
    return isOffered
  }

  /** Whether somebody else registered `protocol`. One look-up, also for a name that nobody has. */
  isForeign (protocol: string): boolean {
    return this.#foreign.has(protocol)
  }
}
