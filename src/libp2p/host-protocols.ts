import { brokenProtocolRule, MAX_PROTOCOL_BYTES } from '../protocols/stream-protocol.ts'
import { ProtocolList } from '../protocols/protocol-list.ts'
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
  readonly #registrar: Registrar
  #names: ReadonlySet<string> = new Set()

  /**
   * @param registrar - of the node
   * @param serve - for our own entries
   */
  constructor (registrar: Registrar, serve: StreamHandler) {
    this.#registrar = registrar
    this.serve = serve
  }

  /** Reads the registrar anew. Names against S3.1 stay out of the list; {@link offers} still answers for them. */
  refresh (): void {
    this.list.replace(this.#registrar.getProtocols().filter((name) => (
      this.isForeign(name) && brokenProtocolRule(name, MAX_PROTOCOL_BYTES) === undefined
    )))
    this.#names = new Set(this.list.snapshot)
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

  /** Whether somebody else registered `protocol`. */
  isForeign (protocol: string): boolean {
    try {
      return this.#registrar.getHandler(protocol).handler !== this.serve
    } catch {
      // The registrar throws for names that it does not have.
      return false
    }
  }
}
