import type { ConnectionMeter } from '../../src/connection/connection-meter.ts'

/** A meter that counts nothing, for those that count one thing. */
export const SILENT_METER: ConnectionMeter<unknown> = {
  opened: () => undefined,
  negotiated: () => undefined,
  requested: () => undefined,
  requestFailed: () => undefined,
  inboundFailed: () => undefined,
  violated: () => undefined,
  rejected: () => undefined,
  protocolsChanged: () => undefined,
  yielded: () => undefined
}
