import type { PartEvent } from '../handler/compose.ts'
import type { ConnectionClosed, MessageDelivered, MessageUndelivered } from './from-swarm.ts'

/** The end of a connection as the part `key` is told it: with its own messages and nobody else's (S6.9). */
export function closedFor (key: string, event: ConnectionClosed): ConnectionClosed {
  if (event.undelivered.length === 0) {
    return event
  }
  const own = event.undelivered.filter((message): message is PartEvent => isPartEvent(message) && message.handler === key)
  return Object.freeze({ ...event, undelivered: Object.freeze(own.map(message => message.event)) })
}

/** A receipt as its sender is told it, and the key of the sender (S7.11). */
export function ownReceipt (
  receipt: MessageDelivered | MessageUndelivered
): { readonly handler: string, readonly event: MessageDelivered | MessageUndelivered } | undefined {
  const sender = receipt.delivered ? receipt.token : receipt.event
  if (!isPartEvent(sender)) {
    return undefined
  }
  const token = isPartEvent(receipt.token) ? receipt.token.event : undefined
  const event = receipt.delivered ? { ...receipt, token } : { ...receipt, token, event: sender.event }
  return { handler: sender.handler, event: Object.freeze(event) }
}

function isPartEvent (message: unknown): message is PartEvent {
  return typeof message === 'object' && message !== null && 'handler' in message && 'event' in message
}
