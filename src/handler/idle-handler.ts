import type { ConnectionHandler } from './connection-handler.ts'

const NOTHING: readonly string[] = Object.freeze([])

/** A handler that does nothing: for connections in which no behaviour takes part, for tests and for docs. */
export class IdleHandler implements ConnectionHandler {
  listenProtocols (): readonly string[] {
    return NOTHING
  }

  onConnectionEvent (): void {}
}
