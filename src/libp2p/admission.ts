import { LazySignal } from '../behaviours/lazy-signal.ts'
import { peerOf } from './addresses.ts'
import { nextConnectionId } from './connection-ids.ts'
import type { ConnectionLimits, EventHandler, PeerId, StreamCloseEvent } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { ConnectionDenied } from '../behaviour/connection-denied.ts'
import type { EstablishedConnection, PendingConnection } from '../behaviour/network-behaviour.ts'
import type { ConnectionId, Direction } from '../core/ids.ts'
import type { OwnDial } from './own-dial.ts'

/** What may close: the raw connection, or the host's connection over it. */
export interface Wire {
  readonly status: string
  addEventListener (type: 'close', listener: EventHandler<StreamCloseEvent>): void
  removeEventListener (type: 'close', listener: EventHandler<StreamCloseEvent>): void
}

const NOTHING = (): void => {}

/** A connection as the gates and the behaviours are shown it: few of them ask for its signal, and one that is made takes a kilobyte. */
export class AdmittedConnection implements EstablishedConnection {
  readonly id: ConnectionId
  readonly peer: PeerId
  readonly direction: Direction
  readonly address: Multiaddr
  readonly limits: ConnectionLimits | undefined
  /** Not the admission: that is of no use any more when the connection is there. */
  readonly #lifetime: LazySignal

  constructor (admission: Admission, peer: PeerId, address: Multiaddr, limits: ConnectionLimits | undefined) {
    this.id = admission.id
    this.peer = peer
    this.direction = admission.direction
    this.address = address
    this.limits = limits
    this.#lifetime = admission.lifetime
  }

  /** See {@link EstablishedConnection}. */
  get signal (): AbortSignal {
    return this.#lifetime.signal
  }
}

/** An attempt of a peer as the gates and the behaviours are shown it. */
export class InboundAttempt implements PendingConnection {
  readonly id: ConnectionId
  readonly direction = 'inbound'
  readonly addresses: readonly Multiaddr[]
  readonly peer: PeerId | undefined
  readonly #admission: Admission

  constructor (admission: Admission) {
    this.id = admission.id
    this.addresses = [admission.address]
    this.peer = peerOf(admission.address)
    this.#admission = admission
  }

  /** See {@link PendingConnection}. */
  get signal (): AbortSignal {
    return this.#admission.signal
  }
}

/** One connection of the host on its way through the gates. */
export class Admission {
  readonly id: ConnectionId
  readonly direction: Direction
  readonly address: Multiaddr
  /** The dial of the swarm that it came from. */
  readonly dial: OwnDial | undefined
  /** Known after the security handshake. */
  peer: PeerId | undefined
  /** Committed; the swarm takes it over when the host has opened it. */
  established: EstablishedConnection | undefined
  denial: ConnectionDenied | undefined
  /** Ends with the connection, or before there is one. */
  readonly lifetime: LazySignal = new LazySignal()
  #unwatch = NOTHING

  constructor (direction: Direction, address: Multiaddr, dial: OwnDial | undefined) {
    // Of several connections that the host makes for one dial, one is the dial's.
    this.dial = dial?.isTaken === false ? dial : undefined
    this.id = this.dial?.id ?? nextConnectionId()
    this.direction = direction
    this.address = address
  }

  /** It was denied, or failed, or the connection has closed. */
  get isOver (): boolean {
    return this.lifetime.isOver
  }

  /** See `PendingConnection` and `EstablishedConnection`. */
  get signal (): AbortSignal {
    return this.lifetime.signal
  }

  /** Calls `onClosed` when `wire`, and from now on nothing else, closes; at once if it has. */
  watch (wire: Wire, onClosed: (error: Error | undefined) => void): void {
    this.unwatch()
    if (wire.status !== 'open') {
      onClosed(undefined)
      return
    }
    const listener = ({ error }: StreamCloseEvent): void => { onClosed(error) }
    wire.addEventListener('close', listener)
    this.#unwatch = () => { wire.removeEventListener('close', listener) }
  }

  /** Somebody else sees to its end. */
  unwatch (): void {
    this.#unwatch()
    this.#unwatch = NOTHING
  }

  /** Nothing comes of it any more. */
  end (reason: unknown): void {
    this.unwatch()
    this.lifetime.abort(reason)
  }
}
