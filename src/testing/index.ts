/**
 * The test kit: what tests of protocols need, in virtual time and without randomness.
 *
 * @module testing
 */

export { chunksOf, everySplit, randomSplits } from './chunks.ts'
export { ConnectionPair, PairEnd, connectionPair } from './connection-pair.ts'
export { handlerComplianceSuite } from './handler-compliance.ts'
export { NegotiationPair } from './negotiation-pair.ts'
export { RecordingHandler, recordingHandler } from './recording-handler.ts'
export { ScriptedConnection } from './scripted-connection.ts'
export { ScriptedMuxer, ScriptedStream, scriptedMuxer } from './scripted-muxer.ts'
export { seededRandom } from '../core/seeded-random.ts'
export { shrinkScript, simulate } from './simulation.ts'
export { VirtualClock } from './virtual-clock.ts'
export { VirtualStream } from './virtual-stream.ts'
export type { ConnectionPairInit } from './connection-pair.ts'
export type { ComplianceSubject, SuiteRunner } from './handler-compliance.ts'
export type { NegotiationPairInit } from './negotiation-pair.ts'
export type { RecordedEvent } from './recording-handler.ts'
export type { ScriptedConnectionOptions } from './scripted-connection.ts'
export type { BrokenScript, SimulateOptions, Simulation } from './simulation.ts'
