import { decodeMessage, encodeMessage } from 'protons-runtime'
import { RemoteProtocolError } from '../errors.ts'
import type { Codec } from 'protons-runtime'
import type { Uint8ArrayList } from 'uint8arraylist'

/** One message of identify (libp2p/specs, `identify/README.md`); a node may say what it has to say in several. */
export interface IdentifyMessage {
  readonly publicKey?: Uint8Array | undefined
  readonly listenAddrs: readonly Uint8Array[]
  readonly protocols: readonly string[]
  readonly observedAddr?: Uint8Array | undefined
  readonly protocolVersion?: string | undefined
  readonly agentVersion?: string | undefined
  readonly signedPeerRecord?: Uint8Array | undefined
}

/** Numbers of the fields, all of which are length-delimited. */
const FIELDS = {
  publicKey: 1,
  listenAddrs: 2,
  protocols: 3,
  observedAddr: 4,
  protocolVersion: 5,
  agentVersion: 6,
  signedPeerRecord: 8
} as const

const LENGTH_DELIMITED = 2
const FIELD_SHIFT = 3
const WIRE_TYPE = 7

type MutableMessage = { -readonly [Field in keyof IdentifyMessage]: IdentifyMessage[Field] }

const CODEC: Pick<Codec<IdentifyMessage>, 'encode' | 'decode'> = {
  encode (message, writer) {
    const tag = (field: keyof typeof FIELDS): void => { writer.uint32(FIELDS[field] << FIELD_SHIFT | LENGTH_DELIMITED) }
    const bytes = (field: keyof typeof FIELDS, value: Uint8Array | undefined): void => {
      if (value !== undefined) {
        tag(field)
        writer.bytes(value)
      }
    }
    const text = (field: keyof typeof FIELDS, value: string | undefined): void => {
      if (value !== undefined) {
        tag(field)
        writer.string(value)
      }
    }
    bytes('publicKey', message.publicKey)
    message.listenAddrs?.forEach((address) => { bytes('listenAddrs', address) })
    message.protocols?.forEach((name) => { text('protocols', name) })
    bytes('observedAddr', message.observedAddr)
    text('protocolVersion', message.protocolVersion)
    text('agentVersion', message.agentVersion)
    bytes('signedPeerRecord', message.signedPeerRecord)
  },
  decode (reader) {
    const listenAddrs: Uint8Array[] = []
    const protocols: string[] = []
    const message: MutableMessage = { listenAddrs, protocols }
    while (reader.pos < reader.len) {
      const tag = reader.uint32()
      switch (tag >>> FIELD_SHIFT) {
        case FIELDS.publicKey:
          message.publicKey = reader.bytes()
          break
        case FIELDS.listenAddrs:
          listenAddrs.push(reader.bytes())
          break
        case FIELDS.protocols:
          protocols.push(reader.string())
          break
        case FIELDS.observedAddr:
          message.observedAddr = reader.bytes()
          break
        case FIELDS.protocolVersion:
          message.protocolVersion = reader.string()
          break
        case FIELDS.agentVersion:
          message.agentVersion = reader.string()
          break
        case FIELDS.signedPeerRecord:
          message.signedPeerRecord = reader.bytes()
          break
        default:
          reader.skipType(tag & WIRE_TYPE)
      }
    }
    return message
  }
}

/** As it goes out, without its length. */
export function encodeIdentify (message: Partial<IdentifyMessage>): Uint8Array {
  return encodeMessage(message, CODEC)
}

/**
 * As it came in, without its length.
 *
 * @throws RemoteProtocolError (`invalid`)
 */
export function decodeIdentify (bytes: Uint8Array | Uint8ArrayList): IdentifyMessage {
  try {
    return decodeMessage(bytes, CODEC)
  } catch (cause) {
    throw new RemoteProtocolError('Cannot read identify: the message of the peer is malformed', 'invalid', undefined, { cause })
  }
}

/** Several messages, one at least, as one: of what may be there once the last one counts, the rest adds up. */
export function joinMessages (messages: readonly IdentifyMessage[]): IdentifyMessage {
  return {
    ...messages.reduce((joined, message) => ({ ...joined, ...message })),
    listenAddrs: messages.flatMap(({ listenAddrs }) => listenAddrs),
    protocols: [...new Set(messages.flatMap(({ protocols }) => protocols))]
  }
}

/** What two pushes say, of which the first was not taken in: the later one counts, and what it leaves out is as before. */
export function saidAfter (before: IdentifyMessage, message: IdentifyMessage): IdentifyMessage {
  return {
    ...message,
    publicKey: message.publicKey ?? before.publicKey,
    listenAddrs: message.listenAddrs.length === 0 ? before.listenAddrs : message.listenAddrs,
    observedAddr: message.observedAddr ?? before.observedAddr,
    protocolVersion: message.protocolVersion ?? before.protocolVersion,
    agentVersion: message.agentVersion ?? before.agentVersion,
    signedPeerRecord: message.signedPeerRecord ?? before.signedPeerRecord
  }
}
