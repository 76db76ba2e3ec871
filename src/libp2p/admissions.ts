/**
 * Leads the host's connections through the gates of the behaviours (S7.7). It hears of them by the node's gater:
 *
 * ```
 * denyInboundConnection            pending stage      failed: the wire closes
 * deny…UpgradedConnection          established stage  failed: the wire closes before `connection:open`
 * `connection:open`                the swarm has it
 * ```
 *
 * The pending stage of outbound connections is that of the swarm's own dials; of others only the check is asked. At
 * `connection:open` itself stands the established stage of connections over a relay, as the host does not tell their limits
 * earlier, and of all connections of a node whose gater is not ours; a denial then closes the connection.
 */

import { LazySignal } from '../behaviours/lazy-signal.ts'
import { toError } from '../core/to-error.ts'
import { isRelayed, peerOf, withPeer } from './addresses.ts'
import { Admission, AdmittedConnection, InboundAttempt } from './admission.ts'
import { nextConnectionId } from './connection-ids.ts'
import { dialFailureKindOf } from './dial-failures.ts'
import { passGate } from './verdict.ts'
import type { Connection as HostConnection, MultiaddrConnection, PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { ConnectionDenied, Denied } from '../behaviour/connection-denied.ts'
import type { ListenFailure } from '../behaviour/from-swarm.ts'
import type { EstablishedConnection, PendingConnection } from '../behaviour/network-behaviour.ts'
import type { Direction } from '../core/ids.ts'
import type { Gates } from '../swarm/gates.ts'
import type { ConnectionDriver } from './connection-driver.ts'
import type { Answer, GateKeeper } from './connection-gater.ts'
import type { OwnDial } from './own-dial.ts'
import type { SwarmDriver } from './swarm-driver.ts'
import type { GateStep, VerdictTerms } from './verdict.ts'

/** Collaborators of {@link Admissions}. */
export interface AdmissionsComponents {
  readonly driver: SwarmDriver<ConnectionDriver>
  readonly terms: VerdictTerms
  /** The dial of the swarm that leads to `peer` at `address`. */
  findDial (peer: PeerId | undefined, address: Multiaddr): OwnDial | undefined
}

/** See above. */
export class Admissions implements GateKeeper {
  readonly #components: AdmissionsComponents
  /** By the timeline of the wire, until there is a connection: it shows that very timeline, and nothing else of its wire. */
  readonly #byTimeline = new WeakMap<object, Admission>()

  constructor (components: AdmissionsComponents) {
    this.#components = components
  }

  /** See {@link GateKeeper}. A dial of the swarm has passed the gate already. */
  denyDial (address: Multiaddr): Answer {
    const peer = peerOf(address)
    return this.#components.findDial(peer, address) === undefined && this.#checkForeignDial(address, peer)
  }

  /** See {@link GateKeeper}. */
  denyInbound (wire: MultiaddrConnection): Answer {
    const { remoteAddr } = wire
    const admission = this.#begin(new Admission('inbound', remoteAddr, undefined), wire)
    const attempt = new InboundAttempt(admission)
    return this.#pass(admission, {
      question: { stage: 'pending', direction: 'inbound' },
      check: () => this.#gates.checkPending(attempt),
      commit: () => this.#gates.commitPending(attempt)
    })
  }

  /** See {@link GateKeeper}. */
  denyUpgraded (direction: Direction, peer: PeerId, wire: MultiaddrConnection): Answer {
    const address = withPeer(wire.remoteAddr, peer)
    const admission = this.#byTimeline.get(wire.timeline)
      ?? this.#begin(new Admission(direction, address, this.#dialFor(direction, peer, wire.remoteAddr)), wire)
    admission.peer = peer
    return isRelayed(address)
      ? admission.isOver
      : this.#passEstablished(admission, new AdmittedConnection(admission, peer, address, undefined))
  }

  /**
   * The host has opened `host`: leads it through the gates that are left, and then calls `enter`, which makes it a
   * connection of the swarm; at once if nobody takes time. A denied connection is closed.
   */
  open (host: HostConnection, enter: (admission: Admission, connection: EstablishedConnection) => void): Promise<void> | undefined {
    const { remotePeer: peer, remoteAddr: address, limits } = host
    const admission = this.#admissionOf(host)
    const { established } = admission
    if (established !== undefined) {
      enter(admission, established)
      return undefined
    }
    const connection = new AdmittedConnection(admission, peer, address, limits)
    admission.watch(host, (error) => { this.#closed(admission, error) })
    const decide = (isDenied: boolean): void => {
      admission.unwatch()
      if (isDenied) {
        void closeHost(host)
      } else {
        enter(admission, connection)
      }
    }
    const answer = this.#passEstablished(admission, connection)
    if (typeof answer !== 'boolean') {
      return answer.then(decide)
    }
    decide(answer)
    return undefined
  }

  /** From here on nobody but the host says when the connection ends. */
  #admissionOf ({ remotePeer: peer, remoteAddr: address, direction, timeline }: HostConnection): Admission {
    const admission = this.#takeOut(timeline) ?? new Admission(direction, address, this.#dialFor(direction, peer, address))
    admission.peer = peer
    admission.unwatch()
    if (admission.dial !== undefined) {
      admission.dial.isTaken = true
    }
    return admission
  }

  /** It is on its way no more, and need not live as long as its connection. */
  #takeOut (timeline: object): Admission | undefined {
    const admission = this.#byTimeline.get(timeline)
    this.#byTimeline.delete(timeline)
    return admission
  }

  get #gates (): Gates {
    return this.#components.driver.swarm.gates
  }

  #begin (admission: Admission, wire: MultiaddrConnection): Admission {
    this.#byTimeline.set(wire.timeline, admission)
    admission.watch(wire, (error) => { this.#closed(admission, error) })
    return admission
  }

  #dialFor (direction: Direction, peer: PeerId, address: Multiaddr): OwnDial | undefined {
    return direction === 'outbound' ? this.#components.findDial(peer, address) : undefined
  }

  #passEstablished (admission: Admission, connection: EstablishedConnection): Answer {
    return this.#pass(admission, {
      question: { stage: 'established', direction: connection.direction },
      check: () => this.#gates.checkEstablished(connection),
      commit: () => {
        const denied = this.#gates.commitEstablished(connection)
        admission.established = denied === undefined ? connection : undefined
        return denied
      }
    })
  }

  /** True: denied, or over already. */
  #pass (admission: Admission, step: GateStep): Answer {
    if (admission.isOver) {
      return true
    }
    const { driver, terms } = this.#components
    const conclude = (denied: Denied<Error>): boolean => {
      if (denied !== undefined && !admission.isOver) {
        this.#denied(admission, denied)
      }
      return denied !== undefined
    }
    const verdict = passGate(driver, step, terms, admission)
    return verdict instanceof Promise ? verdict.then(conclude) : conclude(verdict)
  }

  async #checkForeignDial (address: Multiaddr, peer: PeerId | undefined): Promise<boolean> {
    const { driver, terms } = this.#components
    const lifetime = new LazySignal()
    const attempt: PendingConnection = { id: nextConnectionId(), direction: 'outbound', addresses: [address], peer, signal: lifetime.signal }
    const denied = await passGate(driver, {
      question: { stage: 'pending', direction: 'outbound' },
      check: () => this.#gates.checkPending(attempt)
    }, terms, lifetime)
    if (denied !== undefined) {
      lifetime.abort(denied)
      driver.turn(() => { this.#gates.denied(denied, undefined, peer) })
    }
    return denied !== undefined
  }

  /** Whoever committed takes it back; a dial of the swarm goes on, as another address may lead to the peer. */
  #denied (admission: Admission, denied: ConnectionDenied): void {
    const { driver } = this.#components
    admission.denial = denied
    driver.turn(() => { this.#gates.denied(denied, admission.id, admission.peer) })
    this.#failed(admission, denied)
  }

  /** The wire closed before it became a connection of the swarm. */
  #closed (admission: Admission, error: Error | undefined): void {
    if (!admission.isOver) {
      this.#failed(admission, error)
    }
  }

  #failed (admission: Admission, cause: Error | undefined): void {
    const { driver } = this.#components
    admission.end(cause)
    if (admission.direction === 'inbound') {
      const failure = listenFailureOf(admission, cause)
      driver.turn(() => { this.#gates.failed(failure) })
    } else if (admission.dial === undefined) {
      driver.turn(() => { this.#gates.undo(admission.id, cause) })
    } else {
      admission.dial.denial = admission.denial ?? admission.dial.denial
      driver.turn(() => { this.#gates.undoEstablished(admission.id, cause) })
    }
  }
}

function listenFailureOf ({ id, peer, address, denial }: Admission, cause: Error | undefined): ListenFailure {
  return {
    type: 'listen-failure',
    connection: id,
    peer,
    kind: denial !== undefined || (cause !== undefined && dialFailureKindOf(cause) === 'denied') ? 'denied' : 'transport',
    errors: cause === undefined ? [] : [{ address, error: cause }],
    cause
  }
}

async function closeHost (host: HostConnection): Promise<void> {
  try {
    await host.close()
  } catch (error) {
    host.abort(toError(error))
  }
}
