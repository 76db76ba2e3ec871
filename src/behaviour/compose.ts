/**
 * Many behaviours as one (S7.13).
 *
 * - A poll serves the woken parts only, oldest wake first; a part that gave a value goes to the end of the queue, so it
 *   delays another by at most one value. A part that wakes itself during its own poll waits for the next turn, and so do
 *   parts that wake each other without end.
 * - What a part throws concerns that part alone: it comes out as a `behaviour-fault` with the part's key (S4.15).
 * - The handler of a connection is the composition of the parts' handlers under the same keys.
 * - A connection passes when every part lets it (S7.3 to S7.5): all are asked, then all commit in order; when one denies
 *   instead, those that had committed take it back in reverse order.
 */

import { BoundedQueue } from '../core/bounded-queue.ts'
import { PENDING } from '../core/poll.ts'
import { WokenParts } from '../core/woken-parts.ts'
import { composeHandlers } from '../handler/compose.ts'
import { isProtocolList } from '../protocols/protocol-list.ts'
import { InvalidStateError } from '../errors.ts'
import { attachBehaviour } from './attach.ts'
import { commandsOf } from './commands.ts'
import { isDenial } from './connection-denied.ts'
import { CONTAINER } from './container.ts'
import { unionOf } from './except.ts'
import { answersUnder, joinChecks } from './joint-check.ts'
import { under } from './key-path.ts'
import { JoinedListing } from './joined-listing.ts'
import { closedFor, ownReceipt } from './own-messages.ts'
import { BehaviourPart } from './part.ts'
import type { PeerId } from '@libp2p/interface'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { ConnectionId } from '../core/ids.ts'
import type { Poll, PollContext } from '../core/poll.ts'
import type { WokenPartsOwner } from '../core/woken-parts.ts'
import type { PartEvent } from '../handler/compose.ts'
import type { Check, Denied, GateStage } from './connection-denied.ts'
import type { AnyHandler } from './connection-handler.ts'
import type { FromSwarm } from './from-swarm.ts'
import type { Container } from './container.ts'
import type { ComposedBehaviour, KeyedEvent } from './inference.ts'
import type { Behaviours, EstablishedConnection, NetworkBehaviour, PendingConnection } from './network-behaviour.ts'
import type { PartOwner } from './part.ts'
import type { SwarmComponents } from './swarm-components.ts'
import type { BehaviourFault, ToSwarm } from './to-swarm.ts'

type Output = ToSwarm<KeyedEvent<string, unknown>, PartEvent>

/**
 * Composes behaviours into one. Events come out as `{ behaviour: key, peer, connection, event }`, typed by the key;
 * nesting nests. It can be used once a node, or `attachBehaviour`, took it.
 *
 * @param parts - behaviours, or functions of the node's components that make them, by key
 */
export function composeBehaviours<const Parts extends Behaviours> (parts: Parts): ComposedBehaviour<Parts> {
  return new Composition(parts) as unknown as ComposedBehaviour<Parts>
}

/** Polls of one part, on average, in one poll of its composition. */
const MAX_POLLS_PER_PART = 2

class Composition implements NetworkBehaviour<KeyedEvent<string, unknown>, PartEvent, PartEvent, Error>, Container, PartOwner, WokenPartsOwner<BehaviourPart> {
  readonly parts: Behaviours
  #node: { readonly parts: ReadonlyMap<string, BehaviourPart>, readonly peer: PeerId } | undefined
  readonly #woken: WokenParts<BehaviourPart> = new WokenParts(this)
  /** Not bounded: each comes from one call, and the swarm polls before the next one. */
  readonly #faults: BoundedQueue<BehaviourFault> = new BoundedQueue(Infinity)
  readonly #listing = new JoinedListing()

  constructor (parts: Behaviours) {
    this.parts = Object.freeze({ ...parts })
  }

  get [CONTAINER] (): Container[typeof CONTAINER] {
    return {
      attach: components => { this.#attach(components) },
      parts: () => new Map(Array.from(this.#parts, ([key, { behaviour }]) => [key, behaviour])),
      commands: () => Object.freeze(Object.fromEntries(Array.from(this.#parts, ([key, { behaviour }]) => [key, commandsOf(behaviour)])))
    }
  }

  /** The names that the parts declare: the same frozen array until one of them changes. */
  get protocols (): readonly string[] {
    return this.#listing.join(this.#parts)
  }

  partWoke (part: BehaviourPart): void {
    this.#woken.woke(part)
  }

  partWakesAt (part: BehaviourPart): void {
    this.#woken.wakesAt(part)
  }

  /** Parts are asked for what they declare, so there is nothing to note. */
  partTouched (): void {}

  members (): Iterable<BehaviourPart> {
    return this.#parts.values()
  }

  partThrew (fault: BehaviourFault): void {
    this.#faults.push(fault)
  }

  checkPending (attempt: PendingConnection): Check<Error> {
    return this.#check('pending', attempt, (part) => part.checkPending(attempt))
  }

  checkEstablished (connection: EstablishedConnection): Check<Error> {
    return this.#check('established', connection, (part) => part.checkEstablished(connection))
  }

  commitPending (attempt: PendingConnection): Denied<Error> {
    return this.#commit(attempt, (part) => part.commitPending(attempt))
  }

  commitEstablished (connection: EstablishedConnection): AnyHandler<PartEvent, PartEvent> | Denied<Error> {
    const handlers: Array<[string, AnyHandler]> = []
    const denied = this.#commit(connection, (part) => {
      const answer = part.commitEstablished(connection)
      if (isDenial(answer)) {
        return answer
      }
      if (answer === undefined) {
        part.absent.add(connection.id)
      } else {
        handlers.push([part.key, answer])
      }
      return undefined
    })
    if (denied !== undefined) {
      return denied
    }
    return handlers.length === 0 ? undefined : composeHandlers(Object.fromEntries(handlers))
  }

  rollback (attempt: PendingConnection | EstablishedConnection, cause: unknown): void {
    for (const part of [...this.#parts.values()].reverse()) {
      this.#woken.touch(part)
      part.rollback(attempt, cause)
    }
  }

  addressesForDial (attempt: PendingConnection): readonly Multiaddr[] {
    return Array.from(this.#parts.values(), (part) => part.addressesForDial(attempt)).flat()
  }

  onSwarmEvent (event: FromSwarm): void {
    if (event.type === 'handler-notified') {
      const receipt = ownReceipt(event)
      this.#tell(receipt?.handler, receipt?.event)
      return
    }
    for (const part of this.#parts.values()) {
      this.#woken.touch(part)
      part.onSwarmEvent(event.type === 'connection-closed' ? closedFor(part.key, event) : event)
    }
  }

  onHandlerEvent (peer: PeerId, connection: ConnectionId, { handler: key, event }: PartEvent): void {
    const part = this.#parts.get(key)
    if (part !== undefined) {
      this.#woken.touch(part)
      part.onHandlerEvent(peer, connection, event)
    }
  }

  poll (cx: PollContext): Poll<Output> {
    this.#woken.begin(cx)
    for (let left = this.#parts.size * MAX_POLLS_PER_PART; ; left--) {
      const fault = this.#faults.shift()
      if (fault !== undefined) {
        return fault
      }
      const part = left > 0 ? this.#woken.take() : undefined
      if (part === undefined) {
        break
      }
      const output = this.#pollPart(part, cx)
      if (output !== PENDING) {
        return output
      }
    }
    this.#woken.endTurn(cx)
    return PENDING
  }

  #attach (components: SwarmComponents): void {
    const parts = new Map<string, BehaviourPart>()
    for (const [key, source] of Object.entries(this.parts)) {
      const part = new BehaviourPart(key, attachBehaviour(source, components, key), this)
      parts.set(key, part)
      this.#woken.touch(part)
      const { protocols } = part.behaviour
      if (protocols !== undefined && isProtocolList(protocols)) {
        protocols.attach(part)
      }
    }
    this.#node = { parts, peer: components.peerId }
  }

  /** All are asked, also after a denial: which one counts is a matter of order, not of speed. */
  #check (stage: GateStage, { direction }: PendingConnection | EstablishedConnection, ask: (part: BehaviourPart) => Check<Error>): Check<Error> {
    return joinChecks(Array.from(this.#parts.values(), (part) => answersUnder(part.key, ask(part))).flat(), { stage, direction })
  }

  #commit (attempt: PendingConnection | EstablishedConnection, commit: (part: BehaviourPart) => Denied<Error>): Denied<Error> {
    const committed: BehaviourPart[] = []
    for (const part of this.#parts.values()) {
      this.#woken.touch(part)
      const denied = commit(part)
      if (denied !== undefined) {
        for (const earlier of committed.reverse()) {
          earlier.rollback(attempt, denied)
        }
        return denied
      }
      committed.push(part)
    }
    return undefined
  }

  #tell (key: string | undefined, event: FromSwarm | undefined): void {
    const part = key === undefined ? undefined : this.#parts.get(key)
    if (part !== undefined && event !== undefined) {
      this.#woken.touch(part)
      part.onSwarmEvent(event)
    }
  }

  #pollPart (part: BehaviourPart, cx: PollContext): Poll<Output> {
    const output = this.#keyedOrFault(part, part.poll(cx.now))
    this.#woken.polled(part, output !== PENDING)
    return output
  }

  /** An output is the author's object: to read it may throw, which is a throw of its poll. */
  #keyedOrFault (part: BehaviourPart, output: Poll<ToSwarm<unknown, unknown>>): Poll<Output> {
    try {
      return output === PENDING ? PENDING : this.#keyed(part, output)
    } catch (cause) {
      this.partThrew({ type: 'behaviour-fault', behaviour: part.key, method: 'poll', cause })
      return PENDING
    }
  }

  get #attached (): { readonly parts: ReadonlyMap<string, BehaviourPart>, readonly peer: PeerId } {
    if (this.#node === undefined) {
      throw new InvalidStateError('Cannot use a composition of behaviours before a node took it')
    }
    return this.#node
  }

  get #parts (): ReadonlyMap<string, BehaviourPart> {
    return this.#attached.parts
  }

  #keyed (part: BehaviourPart, output: ToSwarm<unknown, unknown>): Output {
    switch (output.type) {
      case 'event': {
        const { peer, connection, event } = output
        return { type: 'event', peer, connection, event: { behaviour: part.key, peer: peer ?? this.#attached.peer, connection, event } }
      }
      case 'notify-handler':
        return {
          ...output,
          event: { handler: part.key, event: output.event },
          token: output.token === undefined ? undefined : { handler: part.key, event: output.token },
          except: unionOf(part.absent, output.except)
        }
      case 'behaviour-fault':
        return { ...output, behaviour: under(part.key, output.behaviour) }
      case 'close-connection':
      case 'dial':
      case 'listen-on':
      case 'remove-listener':
      case 'external-address-candidate':
      case 'external-address-confirmed':
      case 'external-address-expired':
      case 'peer-external-address':
      case 'await-check':
        return output
    }
  }
}
