import { DuplicateProtocolError } from '../errors.ts'
import { CONTAINER, isContainer } from './container.ts'
import { declaredBy } from './joined-listing.ts'
import { under } from './key-path.ts'
import type { AnyBehaviour } from './network-behaviour.ts'

/**
 * Makes sure that no two behaviours inside `behaviour` declare the same name: what `onDuplicate: 'error'` means (S3.4).
 *
 * @param behaviour - a composition that was given to its node
 * @throws DuplicateProtocolError which names the protocol and both behaviours
 */
export function refuseSharedProtocols (behaviour: AnyBehaviour): void {
  const owners = new Map<string, string>()
  for (const [path, part] of leavesOf(behaviour, '')) {
    for (const name of declaredBy(part)) {
      const owner = owners.get(name)
      if (owner !== undefined && owner !== path) {
        throw new DuplicateProtocolError(`Cannot compose behaviours: "${owner}" and "${path}" both declare protocol "${name}"`)
      }
      owners.set(name, path)
    }
  }
}

function * leavesOf (behaviour: AnyBehaviour, path: string): Generator<[path: string, behaviour: AnyBehaviour]> {
  if (!isContainer(behaviour)) {
    yield [path, behaviour]
    return
  }
  for (const [key, part] of behaviour[CONTAINER].parts()) {
    yield * leavesOf(part, under(path, key))
  }
}
