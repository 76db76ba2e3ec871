import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, it } from 'vitest'
import { gated, keep } from '../../src/libp2p/connection-gater.ts'
import { BOB } from '../support/virtual-world.ts'
import type { ConnectionGater } from '@libp2p/interface'
import type { GateKeeper } from '../../src/libp2p/connection-gater.ts'

const ADDRESS = multiaddr('/memory/a')
const WIRE = {} as never

function keeper (): GateKeeper & { asked: string[], answer: boolean } {
  return {
    asked: [],
    answer: false,
    denyDial () { this.asked.push('dial'); return this.answer },
    denyInbound () { this.asked.push('inbound'); return this.answer },
    denyUpgraded (direction) { this.asked.push(`upgraded ${direction}`); return this.answer }
  }
}

describe('gated()', () => {
  it('shows the hooks of the user until it has a keeper, so that a host fills in its defaults', () => {
    const gater = gated()
    expect([gater.denyDialMultiaddr, 'denyDialMultiaddr' in gater]).toEqual([undefined, false])
    gater.denyDialMultiaddr = () => true
    keep(gater, keeper())
    expect(gater.denyDialMultiaddr(ADDRESS)).toBe(true)
    expect('denyInboundConnection' in gater).toBe(true)
    expect('denyDialPeer' in gater).toBe(false)
  })

  it('asks its keeper at each gate', () => {
    const own = keeper()
    const gater = gated()
    keep(gater, own)
    own.answer = true
    expect([
      gater.denyDialMultiaddr?.(ADDRESS), gater.denyInboundConnection?.(WIRE),
      gater.denyInboundUpgradedConnection?.(BOB, WIRE), gater.denyOutboundUpgradedConnection?.(BOB, WIRE)
    ]).toEqual([true, true, true, true])
    expect(own.asked).toEqual(['dial', 'inbound', 'upgraded inbound', 'upgraded outbound'])
  })

  it('asks the user first, and its keeper only if the user allows, at once or later', async () => {
    const own = keeper()
    const user: ConnectionGater = { denyInboundConnection: () => true, denyDialMultiaddr: async () => true, denyInboundUpgradedConnection: async () => false }
    const gater = gated(user)
    keep(gater, own)
    expect([gater.denyInboundConnection?.(WIRE), await gater.denyDialMultiaddr?.(ADDRESS)]).toEqual([true, true])
    expect(own.asked).toEqual([])
    own.answer = true
    expect(await gater.denyInboundUpgradedConnection?.(BOB, WIRE)).toBe(true)
    expect(own.asked).toEqual(['upgraded inbound'])
  })

  it('is for one node', () => {
    const gater = gated()
    expect([keep(gater, keeper()), keep(gater, keeper()), keep({}, keeper())]).toEqual([true, false, false])
  })
})
