import { describe, expect, it } from 'vitest'
import { attachBehaviour } from '../../src/behaviour/attach.ts'
import { commandsOf } from '../../src/behaviour/commands.ts'
import { composeBehaviours } from '../../src/behaviour/compose.ts'
import { refuseSharedProtocols } from '../../src/behaviour/distinct-protocols.ts'
import { ping } from '../../src/behaviours/ping.ts'
import { protocolBehaviour } from '../../src/behaviours/protocol-behaviour.ts'
import { requestResponse } from '../../src/behaviours/request-response.ts'
import { ProtocolList } from '../../src/protocols/protocol-list.ts'
import { RecordingBehaviour } from '../support/recording-behaviour.ts'
import { ALICE, componentsOf } from '../support/virtual-world.ts'
import type { BehaviourSource } from '../../src/behaviour/network-behaviour.ts'
import type { SwarmComponents } from '../../src/behaviour/swarm-components.ts'

const components = componentsOf(ALICE)

describe('attachBehaviour()', () => {
  it('gives functions the components of the node, once, at every depth (S7.13)', () => {
    const given: SwarmComponents[] = []
    const make = (received: SwarmComponents) => {
      given.push(received)
      return new RecordingBehaviour()
    }
    attachBehaviour(composeBehaviours({ make, outer: () => composeBehaviours({ make }) }), components)

    expect(given).toEqual([components, components])
  })

  it('throws InvalidStateError for an instance that serves a node already, and names its key', () => {
    const behaviour = new RecordingBehaviour()
    attachBehaviour(behaviour, components)

    expect(() => attachBehaviour(behaviour, components)).toThrow(expect.objectContaining({ name: 'InvalidStateError' }))
    expect(() => attachBehaviour(composeBehaviours({ again: behaviour }), components)).toThrow('Cannot use behaviour "again" twice')
  })

  it('throws InvalidStateError for an instance under two keys, and for a composition used twice', () => {
    const behaviour = new RecordingBehaviour()
    const composition = composeBehaviours({})
    attachBehaviour(composition, components)

    expect(() => attachBehaviour(composeBehaviours({ one: behaviour, two: behaviour }), components)).toThrow('"two" twice')
    expect(() => attachBehaviour(composition, components)).toThrow('twice')
  })

  it.each([['ping', ping], ['requestResponse', requestResponse], ['protocolBehaviour', protocolBehaviour]])('tells that %s was given uncalled', (name, maker) => {
    const parts = { mine: maker as unknown as BehaviourSource }

    expect(() => attachBehaviour(composeBehaviours(parts), components))
      .toThrow(new TypeError(`Cannot use behaviour "mine": ${name} was given uncalled, write ${name}(options)`))
  })

  it.each([['null', null], ['a number', 1], ['an object of another kind', {}], ['a function that returns nothing', () => undefined]])(
    'throws TypeError for %s', (_, source) => {
      const parts = { broken: source as unknown as BehaviourSource }

      expect(() => attachBehaviour(composeBehaviours(parts), components)).toThrow(expect.objectContaining({ name: 'TypeError' }))
      expect(() => attachBehaviour(composeBehaviours(parts), components)).toThrow('"broken"')
    }
  )
})

describe('commandsOf() (S7.16)', () => {
  it('gives behaviours as they are, and the parts of compositions by key', () => {
    const a = new RecordingBehaviour()
    const b = new RecordingBehaviour()
    const root = attachBehaviour(composeBehaviours({ a, group: composeBehaviours({ b: () => b }) }), components)
    const commands = commandsOf(root)

    expect(commands).toEqual({ a, group: { b } })
    expect(Object.isFrozen(commands)).toBe(true)
    expect(commandsOf(a)).toBe(a)
  })
})

describe('refuseSharedProtocols() (S3.4)', () => {
  const attached = (parts: Record<string, BehaviourSource>) => attachBehaviour(composeBehaviours(parts), components)

  it('throws DuplicateProtocolError that names the protocol and both behaviours', () => {
    const root = attached({
      a: new RecordingBehaviour(['/x', '/y']),
      silent: new RecordingBehaviour(),
      group: composeBehaviours({ b: new RecordingBehaviour(new ProtocolList(['/z', '/y'])) })
    })

    expect(() => { refuseSharedProtocols(root) }).toThrow(expect.objectContaining({
      name: 'DuplicateProtocolError',
      message: 'Cannot compose behaviours: "a" and "group.b" both declare protocol "/y"'
    }))
  })

  it('accepts distinct names, and a behaviour that lists its own name twice', () => {
    const root = attached({ a: new RecordingBehaviour(['/x', '/x']), b: new RecordingBehaviour(['/y']) })

    expect(() => { refuseSharedProtocols(root) }).not.toThrow()
  })
})
