import { ConnectionDenied } from '../../src/behaviour/connection-denied.ts'
import { IdleHandler } from '../../src/handler/idle-handler.ts'
import type { Check, Denied } from '../../src/behaviour/connection-denied.ts'
import type { FromSwarm } from '../../src/behaviour/from-swarm.ts'
import type { EstablishedConnection, NetworkBehaviour, PendingConnection } from '../../src/behaviour/network-behaviour.ts'

export type GateName = 'checkPending' | 'commitPending' | 'checkEstablished' | 'commitEstablished'

/** Why a behaviour of a test denied. */
export class Full extends Error {
  override readonly name = 'Full'
  readonly limit: number

  constructor (limit = 1) {
    super(`there are ${limit} already`)
    this.limit = limit
  }
}

/** A behaviour that counts what it committed, and does at one gate what the test says. */
export class GatedBehaviour implements NetworkBehaviour<never, never, never, Full> {
  /** Committed and not taken back: `pending c1`, `established c1`. */
  readonly held: string[] = []
  /** Every call of a gate, and every rollback, in order. */
  readonly calls: string[]
  readonly swarmEvents: FromSwarm[] = []
  readonly attempts: Array<PendingConnection | EstablishedConnection> = []
  readonly name: string
  /** What a gate does instead of letting pass. */
  gates: Partial<Record<GateName, () => Check<Full>>> = {}
  onRollback = (): void => {}

  constructor (name = '', calls: string[] = []) {
    this.name = name
    this.calls = calls
  }

  checkPending (attempt: PendingConnection): Check<Full> {
    return this.#gate('checkPending', attempt)
  }

  commitPending (attempt: PendingConnection): Denied<Full> {
    const denied = this.#gate('commitPending', attempt) as Denied<Full>
    if (denied === undefined) {
      this.held.push(`pending ${attempt.id}`)
    }
    return denied
  }

  checkEstablished (connection: EstablishedConnection): Check<Full> {
    return this.#gate('checkEstablished', connection)
  }

  commitEstablished (connection: EstablishedConnection): IdleHandler | Denied<Full> {
    const denied = this.#gate('commitEstablished', connection) as Denied<Full>
    if (denied !== undefined) {
      return denied
    }
    this.held.push(`established ${connection.id}`)
    return new IdleHandler()
  }

  rollback (attempt: PendingConnection | EstablishedConnection, cause: unknown): void {
    const stage = 'addresses' in attempt ? 'pending' : 'established'
    this.calls.push(`${this.name} rollback ${stage} ${cause instanceof Error ? cause.name : String(cause)}`)
    const at = this.held.indexOf(`${stage} ${attempt.id}`)
    if (at === -1) {
      throw new Error(`${this.name} never committed ${stage} ${attempt.id}`)
    }
    this.held.splice(at, 1)
    this.onRollback()
  }

  onSwarmEvent (event: FromSwarm): void {
    this.swarmEvents.push(event)
  }

  #gate (gate: GateName, attempt: PendingConnection | EstablishedConnection): Check<Full> {
    this.calls.push(`${this.name} ${gate}`)
    this.attempts.push(attempt)
    return this.gates[gate]?.()
  }
}

/** A gate that denies. */
export function deny (limit = 1): () => ConnectionDenied<Full> {
  return () => new ConnectionDenied(new Full(limit))
}
