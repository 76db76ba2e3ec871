/**
 * Composable network behaviours, per-connection protocol sets and protocol-change events for js-libp2p nodes.
 *
 * `withSwarm` plugs behaviours into the options of a node; `node.services.swarm` has their events and commands, the
 * protocols that each peer speaks, and the connections. A behaviour is written as a {@link NetworkBehaviour} with a
 * {@link ConnectionHandler} per connection, or in the short form `protocolBehaviour`.
 *
 * @packageDocumentation
 */

export { withSwarm } from './libp2p/with-swarm.ts'
export type { WithSwarmOptions } from './libp2p/with-swarm.ts'
export { swarm } from './libp2p/service.ts'
export { negotiated } from './libp2p/negotiated-muxer.ts'
export type { ConnectionMode } from './libp2p/connection-mode.ts'
export type { ConnectionOrigin, Swarm, SwarmConnection, SwarmEvents } from './libp2p/swarm-api.ts'
export type { DialOptions } from './libp2p/dialer.ts'
export type { SwarmInit, SwarmLimits } from './libp2p/swarm-options.ts'
export type { EventsIterator, Overflow } from './libp2p/event-stream.ts'
export type { EventsOptions } from './libp2p/swarm-events.ts'
export type { ProtocolSupport, SwarmProtocols } from './libp2p/protocol-changes.ts'
export type { ChangeCallback, ProtocolFilter } from './libp2p/change-subscribers.ts'
export type { PeerProtocolsChange } from './libp2p/peer-protocols-change.ts'
export type { Subscription } from './subscriptions/subscription.ts'
export type { ConnectionInit } from './connection/connection-config.ts'
export type { HandlerError } from './swarm/swarm-event.ts'

export { composeBehaviours } from './behaviour/compose.ts'
export { ConnectionDenied } from './behaviour/connection-denied.ts'
export type { Check, Denied, DenialPlace, GateStage } from './behaviour/connection-denied.ts'
export { DialFailureError } from './behaviour/dial-failure-error.ts'
export { mapBehaviour } from './behaviour/map.ts'
export type { BehaviourMap } from './behaviour/map.ts'
export { toggle } from './behaviour/toggle.ts'
export type { ToggleOptions } from './behaviour/toggle.ts'
export type {
  AnyHandler, ConnectionEvent, ConnectionHandler, DialUpgradeError, FullyNegotiatedInbound, FullyNegotiatedOutbound, HandlerOutput,
  ListenUpgradeError, OutboundStreamRequest
} from './behaviour/connection-handler.ts'
export type {
  AddressFailure, ConnectionClosed, ConnectionEstablished, DialFailure, DialFailureKind, ExternalAddressChange, FromSwarm,
  ListenAddressChange, ListenFailure, ListenerChange, ListenerError, MessageDelivered, MessageUndelivered, PeerExternalAddress, SwarmRestarted, SwarmStopped,
  UndeliveredReason
} from './behaviour/from-swarm.ts'
export type {
  BehaviourEvent, BehaviourOf, Commands, ComposedBehaviour, Denial, DeniedAt, EventOf, KeyedEvent, MessageOf, Toggle, WrappedBehaviour
} from './behaviour/inference.ts'
export type { NegotiatedStream } from './behaviour/negotiated-stream.ts'
export type {
  AnyBehaviour, BehaviourSource, Behaviours, EstablishedConnection, NetworkBehaviour, PendingConnection
} from './behaviour/network-behaviour.ts'
export type { SwarmComponents } from './behaviour/swarm-components.ts'
export type {
  AwaitCheck, BehaviourFault, ChangeListener, CloseConnection, Dial, DialCondition, DialTarget, EmitEvent, NotifyHandler, ToSwarm
} from './behaviour/to-swarm.ts'

export { asyncUpgrade } from './behaviours/async-upgrade.ts'
export { oneShotHandler } from './behaviours/one-shot-handler.ts'
export type {
  OneShotEvent, OneShotFailed, OneShotHandlerInit, OneShotInboundFailed, OneShotReceived, OneShotSent
} from './behaviours/one-shot-handler.ts'
export { protocolBehaviour } from './behaviours/protocol-behaviour.ts'
export type { OpenOptions, Opener, ProtocolBehaviourInit, ShortBehaviour } from './behaviours/protocol-behaviour.ts'
export { protocolHandler } from './behaviours/protocol-handler.ts'
export type { OpenStream, ProtocolHandlerInit, ProtocolInit } from './behaviours/protocol-handler.ts'
export type { HandlerContext, StreamCallback, StreamContext } from './behaviours/stream-callback.ts'
export type { CallOptions, LazyOptions, SignalOptions } from './behaviours/call-options.ts'

export { composeHandlers } from './handler/compose.ts'
export type { ChangingParts, ComposedHandler } from './handler/compose.ts'
export type { CancelOutboundRequest, ProtocolsChanged } from './handler/connection-handler.ts'
export { mapHandler } from './handler/map.ts'
export type { HandlerMap } from './handler/map.ts'
export type { StreamUpgrade } from './handler/stream-upgrade.ts'
export { Outbox } from './handler/outbox.ts'
export { PENDING } from './core/poll.ts'
export type { Poll, PollContext } from './core/poll.ts'
export type { CloseReason } from './core/close-reason.ts'
export type { ConnectionId, Direction } from './core/ids.ts'
export { ProtocolList } from './protocols/protocol-list.ts'
export type { ProtocolListing } from './protocols/protocol-list.ts'
export type { ProtocolsChange, ProtocolsView } from './protocols/protocols-change.ts'

export {
  AbortError, ConnectionClosedError, DuplicateProtocolError, InvalidStateError, NegotiationError, NotConnectedError, OverflowError,
  RemoteProtocolError, StreamResetError, StreamUpgradeError, TimeoutError, UnexpectedEOFError
} from './errors.ts'
export type { FailedOutcome, StreamFailure, StreamPhase, StreamUpgradeErrorKind } from './errors.ts'
