import { takesOptions } from '../behaviour/attach.ts'
import { flag } from '../core/options.ts'
import { checkCallOptions } from './call-options.ts'
import { CallingBehaviour } from './calling-behaviour.ts'
import { parseListing } from './listing.ts'
import { PeerCalls } from './peer-calls.ts'
import { ProtocolHandler, SHARED_OPTIONS, checkProtocolInit } from './protocol-handler.ts'
import { StreamScope } from './stream-scope.ts'
import type { PeerId } from '@libp2p/interface'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { EstablishedConnection, NetworkBehaviour } from '../behaviour/network-behaviour.ts'
import type { ProtocolListing } from '../protocols/protocol-list.ts'
import type { CallOptions, LazyOptions } from './call-options.ts'
import type { LazySignal } from './lazy-signal.ts'
import type { ProtocolCommand, ProtocolInit } from './protocol-handler.ts'
import type { StreamContext } from './stream-callback.ts'

/** Options of `open`. */
export interface OpenOptions extends CallOptions, LazyOptions {
  /** Names to propose, in this order. Default: those of the behaviour. */
  protocols?: readonly string[] | undefined
}

/** What the commands of a `protocolBehaviour` are made from. */
export interface Opener {
  /**
   * Opens a stream on the oldest connection to `peer` on which the behaviour runs; without a connection the peer is dialed.
   * The stream is the caller's: it holds the connection open until both sides are closed.
   *
   * Rejects with `NotConnectedError` when the behaviour does not run on any connection, or the dial failed (`cause` is the
   * `DialFailureError`), with `StreamUpgradeError` when the stream could not be had (`timeoutMs` defaults to the option
   * `outboundTimeoutMs`), with `TimeoutError` when the dial has taken `timeoutMs` (default: as long as it takes), and with
   * `AbortError` when the signal aborts.
   */
  open (peer: PeerId, options?: OpenOptions): Promise<NegotiatedStream>
}

/** What `protocolBehaviour` takes. */
export interface ProtocolBehaviourInit<Event, Api extends object> extends ProtocolInit<Event, StreamContext> {
  /** Makes the commands: the members of what it returns become members of the behaviour. */
  commands?: ((swarm: Opener) => Api) | undefined
  /** Whether to run on relayed connections, which have limits. @default false, as in js-libp2p */
  runOnLimitedConnection?: boolean | undefined
}

/**
 * What `protocolBehaviour` makes: a behaviour with the members of `Api`. Both are inferred from the callbacks alone, not from
 * the place where the behaviour is put: a composition takes all kinds.
 */
export type ShortBehaviour<Event, Api extends object> = NetworkBehaviour<Event, unknown, unknown> & Api

const ACTION = 'Cannot make a behaviour'
const OPTIONS = { ...SHARED_OPTIONS, runOnLimitedConnection: flag(false) }

/** Callers that may wait for a stream at a time; far above what a peer grants, so that only a loop gets there. */
const MAX_OPEN_CALLS = 1024

/**
 * A whole behaviour from async callbacks, for protocols whose state lives in their streams. `yield` in `inbound` emits an
 * event, what `commands` returns is found on `swarm.behaviours.KEY`.
 *
 * @param init - names, callbacks, commands
 * @throws TypeError or RangeError for an option that is missing, unknown or out of range, and for a name that is none
 * @throws TypeError when a command has the name of a member of `NetworkBehaviour`
 *
 * @example
 * protocolBehaviour({
 *   protocols: '/chat/1.0.0',
 *   async * inbound (stream) {
 *     for await (const text of linesOf(stream)) yield { type: 'message', text }
 *   },
 *   commands: ({ open }) => ({
 *     async say (peer: PeerId, text: string) {
 *       const stream = await open(peer)
 *       stream.send(new TextEncoder().encode(`${text}\n`))
 *       await stream.close()
 *     }
 *   })
 * })
 */
export function protocolBehaviour<const Event = never, Api extends object = object> (
  init: ProtocolBehaviourInit<Event, Api>
): ShortBehaviour<NoInfer<Event>, NoInfer<Api>> {
  checkProtocolInit(init, OPTIONS, ['inbound', 'commands'], ACTION)
  const behaviour = new ProtocolBehaviour(init)
  const api = init.commands?.({ open: async (peer, options) => await behaviour.openStream(peer, options) })
  if (api !== undefined) {
    addCommands(behaviour, api)
  }
  // Without `commands` nothing is known of Api but that it is an object.
  return behaviour as NetworkBehaviour<Event, unknown, unknown> as ShortBehaviour<Event, Api>
}

takesOptions(protocolBehaviour, 'protocolBehaviour')

function addCommands (behaviour: object, api: object): void {
  for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(api))) {
    if (name in behaviour) {
      throw new TypeError(`${ACTION}: a command must not be called "${name}", every behaviour has a member of that name`)
    }
    Object.defineProperty(behaviour, name, member)
  }
}

/** The behaviour behind the short form. */
export class ProtocolBehaviour<Event> extends CallingBehaviour<Event, ProtocolCommand, NegotiatedStream> {
  readonly protocols: ProtocolListing
  readonly #peers: PeerCalls<NegotiatedStream, ProtocolCommand>

  constructor (init: ProtocolBehaviourInit<Event, object>) {
    const config = { ...init, protocols: parseListing(init.protocols, ACTION) }
    const contextOf = (protocol: string, signal: LazySignal, connection: EstablishedConnection): StreamContext => new StreamScope(protocol, signal, connection)
    const peers = new PeerCalls<NegotiatedStream, ProtocolCommand>({
      action: 'Cannot open stream',
      maxOpen: MAX_OPEN_CALLS,
      isTimedByHandler: true,
      toCancel: (call) => ({ type: 'cancel-call', call })
    })
    super({
      peers,
      runOnLimitedConnection: init.runOnLimitedConnection ?? false,
      handlerFor: (connection) => new ProtocolHandler(config, contextOf, connection)
    })
    this.#peers = peers
    this.protocols = config.protocols
  }

  /** See {@link Opener.open}. */
  async openStream (peer: PeerId, options: OpenOptions = {}): Promise<NegotiatedStream> {
    checkCallOptions(options, 'Cannot open stream', ['protocols', 'lazy'])
    const { protocols, signal, timeoutMs, lazy } = options
    if (protocols !== undefined && !Array.isArray(protocols)) {
      throw new TypeError(`Cannot open stream: protocols must be an array of names, received ${typeof protocols}`)
    }
    return await this.#peers.call(peer, { signal, timeoutMs }, Infinity, (call) => ({ type: 'open-for-call', call, protocols, timeoutMs, lazy }))
  }
}
