/** Steps that tests of a connection have in common. */

import { wire } from './wire.ts'
import type { ConnectionOutput, ConnectionReport } from '../../src/connection/index.ts'
import type { RecordingHandler, ScriptedConnection, ScriptedStream } from '../../src/testing/index.ts'

/** The peer opens a stream and negotiates it, by default for `/a`. */
export function inbound (test: ScriptedConnection, name: string = 'A'): ScriptedStream {
  const stream = test.offer()
  test.feed(stream, wire(`HDR ${name}`))
  return stream
}

/** A handler asks for a stream for `/a`, the muxer grants it, and the peer agrees. */
export function outbound (test: ScriptedConnection, handler: RecordingHandler, info?: unknown): ScriptedStream {
  handler.request(['/a'], { info })
  test.drive()
  const stream = test.grant()
  test.feed(stream, wire('HDR A'))
  return stream
}

/** Both directions of a stream end in good order. */
export function closeStream (test: ScriptedConnection, stream: ScriptedStream): void {
  test.connection.handleStreamClosed(stream)
  test.drive()
}

/** Drives one turn after the other as long as the connection asks for another one; returns how many it took. */
export function settle (test: ScriptedConnection): number {
  for (let turns = 1; ; turns++) {
    const { wakes } = test
    test.drive()
    if (test.wakes === wakes) {
      return turns
    }
  }
}

/** The outputs of one type so far. */
export function outputsOf<Type extends ConnectionOutput<ScriptedStream, unknown>['type']> (
  test: ScriptedConnection, type: Type
): Array<Extract<ConnectionOutput<ScriptedStream, unknown>, { type: Type }>> {
  return test.outputs.filter((output): output is Extract<ConnectionOutput<ScriptedStream, unknown>, { type: Type }> => output.type === type)
}

/** What handlers told their behaviours so far. */
export function eventsOf (test: ScriptedConnection): unknown[] {
  return outputsOf(test, 'handler-event').map(({ event }) => event)
}

/** The reports of one type so far. */
export function reportsOf<Type extends ConnectionReport['type']> (test: ScriptedConnection, type: Type): Array<Extract<ConnectionReport, { type: Type }>> {
  return test.reports.filter((report): report is Extract<ConnectionReport, { type: Type }> => report.type === type)
}

/** `info` and kind of each failed request of a handler, in order. */
export function failuresOf (handler: RecordingHandler): Array<[unknown, string]> {
  return handler.eventsOf('dial-upgrade-error').map(({ info, error }) => [info, error.kind])
}
