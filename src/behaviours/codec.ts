import { kindOf } from '../core/options.ts'
import { RemoteProtocolError } from '../errors.ts'
import { checkCallback } from './stream-callback.ts'

/**
 * Turns requests and responses into bytes and back. What `decode*` throws is the fault of the peer, what `encode*` throws is
 * that of whoever gave the value.
 */
export interface Codec<Request, Response> {
  encodeRequest (request: Request): Uint8Array
  decodeRequest (bytes: Uint8Array): Request
  encodeResponse (response: Response): Uint8Array
  decodeResponse (bytes: Uint8Array): Response
}

const METHODS: readonly string[] = ['encodeRequest', 'decodeRequest', 'encodeResponse', 'decodeResponse']

/** Bytes are what they are. */
export const BYTES: Codec<Uint8Array, Uint8Array> = Object.freeze({
  encodeRequest: itself,
  decodeRequest: itself,
  encodeResponse: itself,
  decodeResponse: itself
})

function itself (bytes: Uint8Array): Uint8Array {
  return bytes
}

/**
 * Refuses what lacks one of the four methods.
 *
 * @throws TypeError
 */
export function checkCodec (codec: unknown, action: string): void {
  if (typeof codec !== 'object' || codec === null) {
    throw new TypeError(`${action}: codec must be an object with ${METHODS.join(', ')}, received ${kindOf(codec)}`)
  }
  for (const name of METHODS) {
    const method: unknown = Reflect.get(codec, name)
    if (method === undefined) {
      throw new TypeError(`${action}: codec must have ${name}()`)
    }
    checkCallback(`codec.${name}`, method, action)
  }
}

/**
 * What leaves: bytes, and not too many of them. Anything else would go out as an empty message, or half of one.
 *
 * @param bytes - what a codec gave
 * @param maxBytes - most there may be
 * @param what - for messages: `request`
 * @param action - for messages: `Cannot request`
 * @throws TypeError or RangeError
 */
export function checkEncoded (bytes: unknown, maxBytes: number, what: string, action: string): asserts bytes is Uint8Array {
  if (!(bytes instanceof Uint8Array)) {
    throw new TypeError(`${action}: a ${what} must be a Uint8Array, received ${kindOf(bytes)}`)
  }
  if (bytes.byteLength > maxBytes) {
    throw new RangeError(`${action}: a ${what} must have at most ${maxBytes} bytes, received ${bytes.byteLength}`)
  }
}

/**
 * What came in.
 *
 * @param decode - one of a codec
 * @param bytes - the whole message
 * @param what - for the message: `request`
 * @throws RemoteProtocolError (`invalid`) whose cause is what `decode` threw: its text may be the peer's
 */
export function decoded<Value> (decode: (bytes: Uint8Array) => Value, bytes: Uint8Array, what: string): Value {
  try {
    return decode(bytes)
  } catch (cause) {
    throw new RemoteProtocolError(`Cannot decode the ${what} of the peer`, 'invalid', undefined, { cause })
  }
}
