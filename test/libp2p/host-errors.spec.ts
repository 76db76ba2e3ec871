import { describe, expect, it } from 'vitest'
import {
  AbortError, NegotiationError, RemoteProtocolError, StreamResetError, StreamUpgradeError, TimeoutError, UnexpectedEOFError
} from '../../src/errors.ts'
import { toHostError } from '../../src/libp2p/host-errors.ts'
import type { StreamPhase, StreamUpgradeErrorKind } from '../../src/errors.ts'

function failed (kind: StreamUpgradeErrorKind, cause: unknown, phase: StreamPhase = 'confirmation'): StreamUpgradeError {
  return new StreamUpgradeError('Cannot open stream', kind, { phase, tried: [], direction: 'outbound', peer: 'p', connectionId: 'c', elapsedMs: 1 }, { cause })
}

describe('toHostError (S2.39)', () => {
  it.each([
    ['negotiation-failed', new NegotiationError('no'), 'UnsupportedProtocolError'],
    ['io', new RemoteProtocolError('bad', 'invalid'), 'InvalidMessageError'],
    ['io', new RemoteProtocolError('long', 'too-long'), 'InvalidDataLengthError'],
    ['io', new UnexpectedEOFError('short'), 'UnexpectedEOFError'],
    ['io', new StreamResetError('gone'), 'StreamResetError'],
    ['io', undefined, 'StreamResetError'],
    ['apply', new Error('upgrade'), 'StreamResetError'],
    ['timeout', new TimeoutError('late'), 'TimeoutError'],
    ['aborted', new AbortError('no'), 'AbortError'],
    ['limit', new RangeError('many'), 'TooManyOutboundProtocolStreamsError'],
    ['invalid-request', new TypeError('no'), 'InvalidParametersError'],
    ['connection-closed', new AbortError('closes'), 'ConnectionClosedError']
  ] as const)('names kind %s with cause %s as the host does: %s', (kind, cause, name) => {
    const error = failed(kind, cause)
    expect(toHostError(error)).toMatchObject({ name, message: 'Cannot open stream', cause: error })
  })

  it('lets through what the muxer threw', () => {
    const thrown = new Error('too many streams')
    expect(toHostError(failed('io', new StreamResetError('failed', undefined, { cause: thrown }), 'open'))).toBe(thrown)
  })
})
