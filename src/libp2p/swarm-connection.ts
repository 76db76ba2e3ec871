import { toError } from '../core/to-error.ts'
import { frozenSet } from './frozen-set.ts'
import { Wait } from './wait.ts'
import type { Connection as HostConnection, PeerId } from '@libp2p/interface'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { CallOptions } from '../behaviours/call-options.ts'
import type { ConnectionId, Direction } from '../core/ids.ts'
import type { ConnectionDriver } from './connection-driver.ts'
import type { ConnectionMode } from './connection-mode.ts'
import type { Scheduler } from './scheduler.ts'
import type { SwarmConnection } from './swarm-api.ts'

/** The application's view of a driven connection. */
export class DrivenSwarmConnection implements SwarmConnection {
  readonly #driver: ConnectionDriver
  readonly #scheduler: Scheduler

  constructor (driver: ConnectionDriver, scheduler: Scheduler) {
    this.#driver = driver
    this.#scheduler = scheduler
  }

  get id (): ConnectionId {
    return this.#driver.id
  }

  get peer (): PeerId {
    return this.#driver.peer
  }

  get direction (): Direction {
    return this.#driver.host.direction
  }

  get mode (): ConnectionMode {
    return this.#driver.mode
  }

  get host (): HostConnection {
    return this.#driver.host
  }

  get local (): ReadonlySet<string> {
    return frozenSet(this.#driver.localProtocols.toArray())
  }

  get remote (): ReadonlySet<string> {
    return frozenSet(this.#driver.remoteProtocols.toArray())
  }

  get streams (): readonly NegotiatedStream[] {
    return Object.freeze(Array.from(this.#driver.streams, ({ stream }) => stream))
  }

  get idleSince (): number | undefined {
    const { status } = this.#driver
    return status.phase === 'open' && status.activity === 'idle' ? status.since : undefined
  }

  async close (options?: CallOptions): Promise<void> {
    const wait = new Wait<void>({ scheduler: this.#scheduler, action: 'Cannot wait for the close of the connection' }, options)
    const closed = this.#driver.whenClosed()
    void closed.then(() => { wait.resolve() })
    this.#driver.close()
    try {
      await wait.promise
    } catch (error) {
      this.#driver.abort(toError(error))
      await closed
    }
  }
}
