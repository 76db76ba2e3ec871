/**
 * Who speaks what: protocol names, listings that change, and the differences between sets of them.
 *
 * @module protocols
 */

export { LocalProtocols } from './local-protocols.ts'
export type { LocalProtocolsInit, ProtocolWarning } from './local-protocols.ts'
export type { ListedProtocol, ListingSnapshot } from './listing-snapshot.ts'
export { ProtocolList } from './protocol-list.ts'
export type { ProtocolListing } from './protocol-list.ts'
export { ProtocolsNotice } from './protocols-change.ts'
export type { ProtocolsChange, ProtocolsView } from './protocols-change.ts'
export { RemoteProtocols } from './remote-protocols.ts'
export type { RemoteProtocolsInit, RemoteReportChange, TruncatedReport } from './remote-protocols.ts'
export { MAX_PROTOCOL_BYTES, streamProtocol } from './stream-protocol.ts'
export type { StreamProtocol } from './stream-protocol.ts'
export { SupportedProtocols } from './supported-protocols.ts'
