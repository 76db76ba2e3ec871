import type { MessageStream } from '@libp2p/interface'

/** Whether both directions are gone: nobody can send or reset any more, and nothing comes but what the stream has buffered. */
export function isOver ({ status }: Pick<MessageStream, 'status'>): boolean {
  return status === 'closed' || status === 'aborted' || status === 'reset'
}
