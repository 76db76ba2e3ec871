/**
 * The messages of one identify stream, each behind its length. A node that has more to say than fits in one message says it
 * in several; how many of them a peer reads, and how long they may be, differs:
 *
 * - rust-libp2p reads one message of 4096 bytes, so what every peer should know comes first, and the first message is short;
 * - go-libp2p and js-libp2p read ten messages of 8192 bytes.
 */

import { decode, encode } from 'it-length-prefixed'
import { concat } from 'uint8arrays/concat'
import { isError } from '../core/to-error.ts'
import { RemoteProtocolError, UnexpectedEOFError } from '../errors.ts'
import { decodeIdentify, encodeIdentify, joinMessages } from './identify-message.ts'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { IdentifyMessage } from './identify-message.ts'

const FIRST_MESSAGE_BYTES = 4096
const MESSAGE_BYTES = 8192
const MAX_MESSAGES = 10

/** What may be read from one stream. */
export interface IdentifyLimits {
  /** Bytes of a message. */
  readonly maxMessageBytes: number
  /** Messages of a stream. */
  readonly maxMessages: number
}

/** What leaves, and how many parts of it found no room. */
export interface SplitMessage {
  readonly messages: readonly Uint8Array[]
  readonly leftOut: number
}

/** Cuts a message into messages that peers read. Parts that do not fit in ten of them are left out, the last protocols first. */
export function splitMessage (message: IdentifyMessage): SplitMessage {
  const { listenAddrs, protocols, ...rest } = message
  const parts = [
    ...Object.entries(rest).map(([field, value]) => encodeIdentify({ [field]: value })),
    ...listenAddrs.map((address) => encodeIdentify({ listenAddrs: [address] })),
    ...protocols.map((name) => encodeIdentify({ protocols: [name] }))
  ]
  // Messages of the same kind one behind the other are one message: that is how the encoding works.
  const bundles: Uint8Array[][] = [[]]
  let room = FIRST_MESSAGE_BYTES
  let leftOut = 0
  for (const part of parts) {
    if (part.byteLength > room && part.byteLength <= MESSAGE_BYTES && bundles.length < MAX_MESSAGES) {
      bundles.push([])
      room = MESSAGE_BYTES
    }
    if (part.byteLength > room) {
      leftOut++
    } else {
      bundles.at(-1)?.push(part)
      room -= part.byteLength
    }
  }
  return { messages: bundles.map((bundle) => concat(bundle)), leftOut }
}

/** Writes messages as fast as the peer takes them, then ends this side. Rejects as the stream does. */
export async function writeMessages (stream: NegotiatedStream, messages: readonly Uint8Array[]): Promise<void> {
  for (const message of messages) {
    if (!stream.send(encode.single(message))) {
      await stream.onDrain()
    }
  }
  await stream.close()
}

/**
 * Reads all messages of a stream as one, up to the limits; what comes after the last message that may be read is left.
 * Some peers reset the stream after their only message, so a reset is an end once there was one.
 *
 * @returns rejects with a `RemoteProtocolError`, with `UnexpectedEOFError` without a message, or as the stream does
 */
export async function readMessages (stream: NegotiatedStream, { maxMessageBytes, maxMessages }: IdentifyLimits): Promise<IdentifyMessage> {
  const messages: IdentifyMessage[] = []
  try {
    for await (const bytes of decode(stream, { maxDataLength: maxMessageBytes })) {
      messages.push(decodeIdentify(bytes))
      if (messages.length === maxMessages) {
        break
      }
    }
  } catch (thrown) {
    if (messages.length === 0 || stream.status !== 'reset') {
      throw asOurs(thrown, maxMessageBytes)
    }
  }
  if (messages.length === 0) {
    throw new UnexpectedEOFError('Cannot read identify: the peer said nothing')
  }
  return joinMessages(messages)
}

/** Errors of the reader by our names; those of the stream and ours are what they are. */
function asOurs (thrown: unknown, maxMessageBytes: number): unknown {
  const name = isError(thrown) ? thrown.name : ''
  switch (name) {
    case 'InvalidDataLengthError':
      return new RemoteProtocolError(`Cannot read identify: a message must have at most ${maxMessageBytes} bytes`, 'too-long', undefined, { cause: thrown })
    case 'InvalidMessageLengthError':
    case 'InvalidDataLengthLengthError':
      return new RemoteProtocolError('Cannot read identify: a message must begin with its length', 'invalid', undefined, { cause: thrown })
    case 'UnexpectedEOFError':
      return new UnexpectedEOFError('Cannot read identify: the stream ended inside a message', undefined, { cause: thrown })
    default:
      return thrown
  }
}
