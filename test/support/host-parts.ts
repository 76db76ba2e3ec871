/** Parts of a host for unit tests, with the behaviour that HOST.md 9 describes. */

import { TypedEventEmitter } from '@libp2p/interface'
import type { Libp2pEvents, PeerId, StreamHandler } from '@libp2p/interface'

/** What a registrar and a peer store were asked for, and what they hold. */
export class RecordingHost {
  readonly calls: string[] = []
  readonly handlers = new Map<string, StreamHandler>()
  /** The record of the node itself: what identify answers from. */
  protocols: string[] = []
  readonly events = new TypedEventEmitter<Libp2pEvents>()
  isBroken = false

  readonly registrar = {
    getProtocols: () => [...this.handlers.keys()].sort(),
    getHandler: (protocol: string) => {
      const handler = this.handlers.get(protocol)
      if (handler === undefined) {
        throw new Error(`No handler registered for protocol ${protocol}`)
      }
      return { handler, options: {} }
    },
    handle: async (protocol: string, handler: StreamHandler): Promise<void> => {
      this.calls.push(`handle ${protocol}`)
      this.handlers.set(protocol, handler)
    },
    unhandle: async (protocols: string | string[]): Promise<void> => {
      this.calls.push(`unhandle ${String(protocols)}`)
      for (const protocol of [protocols].flat()) {
        this.handlers.delete(protocol)
      }
    }
  }

  readonly peerStore = {
    patch: async (_peer: PeerId, { protocols }: { protocols: string[] }) => {
      if (this.isBroken) {
        throw new Error('the disk is full')
      }
      this.calls.push(`patch ${[...protocols].sort().join(' ')}`)
      this.protocols = [...protocols].sort()
    }
  }

  /** Another service registers, which is none of the calls. */
  register (protocol: string, handler: StreamHandler = () => {}): void {
    this.#quietly(() => this.registrar.handle(protocol, handler))
  }

  /** Another service leaves. */
  unregister (protocol: string): void {
    this.#quietly(() => this.registrar.unhandle(protocol))
  }

  #quietly (work: () => Promise<void>): void {
    const { length } = this.calls
    void work()
    this.calls.length = length
  }

  /** What was called since the last look. */
  takeCalls (): string[] {
    return this.calls.splice(0)
  }
}
