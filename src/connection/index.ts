/**
 * The `libp2p-behaviours/connection` entry: the sans-IO connection, for drivers other than the one that ships.
 *
 * @module
 */

export { Connection } from './connection.ts'
export type { ConnectionComponents, HostProtocols, ReadonlyProtocols } from './connection-components.ts'
export type { ConnectionConfig, ConnectionInit } from './connection-config.ts'
export type { ConnectionLoad, ConnectionMeter, NegotiationRole, RejectReason } from './connection-meter.ts'
export type {
  ClosedOutput, ConnectionOutput, ConnectionReport, HandlerErrorReport, HandlerEventOutput, HandlerNotifiedOutput, HandlerTask,
  HostStreamFailed, HostStreamOpened, HostStreamOutput, InboundFailureReport, ProtocolsReport, ReportInterest
} from './connection-output.ts'
export type { MuxerPort, StreamOpening, StreamPort } from './muxer-port.ts'
export type { HostStreamRequest } from './outbound-wish.ts'
export type { OpeningFailure } from './request-outcomes.ts'
export type { ConnectionStatus } from './shutdown.ts'
export type { CloseReason } from '../core/close-reason.ts'
export type { ConnectionId, Direction } from '../core/ids.ts'
export { PENDING } from '../core/poll.ts'
export type { Poll, PollContext } from '../core/poll.ts'
export type {
  AddressChanged, AnyHandler, CancelOutboundRequest, ConnectionEvent, ConnectionHandler, DialUpgradeError, FullyNegotiatedInbound,
  FullyNegotiatedOutbound, HandlerOutput, ListenUpgradeError, NotifyBehaviour, OutboundStreamRequest, ProtocolsChanged, ReportRemoteProtocols
} from '../handler/connection-handler.ts'
export type { StreamUpgrade } from '../handler/stream-upgrade.ts'
