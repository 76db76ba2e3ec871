import type { ConnectionId, Direction } from '../core/ids.ts'
import type { AnyHandler } from '../handler/connection-handler.ts'
import type { ProtocolList } from '../protocols/protocol-list.ts'
import type { ConnectionMeter } from './connection-meter.ts'
import type { ReportInterest } from './connection-output.ts'
import type { MuxerPort } from './muxer-port.ts'

/** Names that the host's other services accept, offered after those of the handlers (S3.3). */
export interface HostProtocols {
  readonly list: ProtocolList
  /** Asked about a proposed name that is on no list, in case `list` is behind; must not throw. */
  offers (protocol: string): boolean
}

/** One side of the protocol sets, as of now. */
export interface ReadonlyProtocols {
  readonly size: number
  /** Whether `protocol` is in the set now. */
  has (protocol: string): boolean
  /** A frozen copy, in the order in which the names were added. */
  toArray (): readonly string[]
}

/** Who a connection works with. */
export interface ConnectionComponents<FromBehaviour = unknown, ToBehaviour = unknown, Stream = unknown> {
  readonly id: ConnectionId
  /** Who is at the other end; shown in errors, never looked into. */
  readonly peer: unknown
  readonly direction: Direction
  readonly handler: AnyHandler<FromBehaviour, ToBehaviour>
  readonly muxer: MuxerPort<NoInfer<Stream>>
  /** Asks the owner for a drain; called once per turn at most. During a `poll` of this connection it means: the next turn. */
  wake (): void
  readonly hostProtocols?: HostProtocols | undefined
  readonly interest?: ReportInterest | undefined
  /** Counts what happens. Default: nobody does. */
  readonly meter?: ConnectionMeter<NoInfer<Stream>> | undefined
}
