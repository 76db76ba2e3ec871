import { AbortError } from '../errors.ts'
import type { FromSwarm, MessageUndelivered } from './from-swarm.ts'
import type { DialTarget, NotifyHandler, ToSwarm } from './to-swarm.ts'

/** Why what a behaviour behind a switch wants is not done. */
export function disabled (): AbortError {
  return new AbortError('The behaviour is disabled')
}

/** The outcome, for a behaviour that is off, of what it wants; undefined when that has none. */
export function refusedWhileOff (wish: ToSwarm<unknown, unknown>): FromSwarm | undefined {
  switch (wish.type) {
    case 'notify-handler':
      return notTold(wish)
    case 'dial':
      return dialRefused(wish.target)
    case 'listen-on':
    case 'remove-listener':
      return Object.freeze({ type: 'listener-error', address: wish.address, error: disabled() })
    case 'event':
    case 'close-connection':
    case 'external-address-candidate':
    case 'external-address-confirmed':
    case 'external-address-expired':
    case 'peer-external-address':
    case 'behaviour-fault':
    case 'await-check':
      return undefined
  }
}

function notTold ({ token, event }: NotifyHandler<unknown>): FromSwarm {
  const receipt: MessageUndelivered = { type: 'handler-notified', token, delivered: false, reason: 'disabled', event }
  return Object.freeze(receipt)
}

/** The target of addresses may name a peer in them; who dials addresses knows them by these. */
function dialRefused (target: DialTarget): FromSwarm {
  const cause = disabled()
  const isPeer = !Array.isArray(target) && !('getComponents' in target)
  const addresses = isPeer ? [] : [target].flat()
  const errors = addresses.map((address) => ({ address, error: cause }))
  return Object.freeze({ type: 'dial-failure', connection: '', peer: isPeer ? target : undefined, kind: 'aborted', errors, cause })
}
