import type { PeerId } from '@libp2p/interface'
import type { EstablishedConnection } from '../behaviour/network-behaviour.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { LazySignal } from './lazy-signal.ts'
import type { HandlerContext, StreamContext } from './stream-callback.ts'

/** The context of a callback of `protocolHandler`. */
export class HandlerScope implements HandlerContext {
  readonly protocol: string
  readonly #signal: LazySignal

  constructor (protocol: string, signal: LazySignal) {
    this.protocol = protocol
    this.#signal = signal
  }

  get signal (): AbortSignal {
    return this.#signal.signal
  }
}

/** The same, for those who know whose stream it is. */
export class StreamScope extends HandlerScope implements StreamContext {
  readonly peer: PeerId
  readonly connection: ConnectionId

  constructor (protocol: string, signal: LazySignal, { peer, id }: EstablishedConnection) {
    super(protocol, signal)
    this.peer = peer
    this.connection = id
  }
}
