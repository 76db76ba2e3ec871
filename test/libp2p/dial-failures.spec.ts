import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, it } from 'vitest'
import { DialFailureError } from '../../src/behaviour/dial-failure-error.ts'
import { distinct, isRelayed, parseTarget, peerOf, withPeer } from '../../src/libp2p/addresses.ts'
import { addressFailuresOf, dialFailureKindOf } from '../../src/libp2p/dial-failures.ts'
import { OwnDial } from '../../src/libp2p/own-dial.ts'
import { ALICE, BOB, SOMEWHERE } from '../support/virtual-world.ts'

const named = (name: string, message = '') => Object.assign(new Error(message), { name })

describe('dialFailureKindOf() (S7.10)', () => {
  it.each([
    ['no-addresses', named('NoValidAddressesError')],
    ['denied', named('DialDeniedError')],
    ['wrong-peer', named('UnexpectedPeerError')],
    ['wrong-peer', named('EncryptionFailedError', 'Payload identity key a does not match expected remote identity key b')],
    ['transport', named('EncryptionFailedError', 'bad handshake')],
    ['local-peer', named('InvalidPeerIdError')],
    ['transport', new Error('refused')],
    ['transport', 'no error at all'],
    ['denied', new AggregateError([named('ConnectionInterceptedError'), named('ConnectionDeniedError')])],
    ['transport', new AggregateError([named('ConnectionInterceptedError'), new Error('refused')])],
    ['transport', new AggregateError([])]
  ])('is %s for %s', (kind, error) => {
    expect(dialFailureKindOf(error)).toBe(kind)
  })

  it('puts the errors beside their addresses, as far as the host tells', () => {
    const other = multiaddr('/memory/b')
    const [one, two] = [new Error('one'), 'two']
    expect(addressFailuresOf(new AggregateError([one, two]), [SOMEWHERE, other])).toMatchObject([{ address: SOMEWHERE, error: one }, { address: other, error: { message: 'two' } }])
    expect(addressFailuresOf(one, [])).toEqual([])
  })
})

describe('DialFailureError', () => {
  it('says what was dialed, and why it failed', () => {
    const cause = new Error('refused')
    const failure = { type: 'dial-failure', connection: 'c1', errors: [], cause } as const
    expect(new DialFailureError({ ...failure, peer: BOB, kind: 'transport' }).message).toBe(`Cannot dial ${BOB.toString()}: no address was reached: refused`)
    expect(new DialFailureError({ ...failure, cause: undefined, peer: undefined, kind: 'no-addresses' })).toMatchObject({
      name: 'DialFailureError', kind: 'no-addresses', message: 'Cannot dial: no address is known that a transport speaks'
    })
  })
})

describe('targets and addresses', () => {
  it('are taken apart', () => {
    const whole = SOMEWHERE.encapsulate(`/p2p/${BOB.toString()}`)
    expect(parseTarget(BOB)).toEqual({ peer: BOB, addresses: [] })
    expect(parseTarget(whole).peer?.equals(BOB)).toBe(true)
    expect(parseTarget([SOMEWHERE])).toEqual({ peer: undefined, addresses: [SOMEWHERE] })
    expect(parseTarget(multiaddr(`/p2p/${BOB.toString()}`)).addresses).toEqual([])
    expect(() => parseTarget([SOMEWHERE, whole])).toThrow(TypeError)
    expect(() => parseTarget('peer' as never)).toThrow(TypeError)
    expect(peerOf(whole)?.equals(BOB)).toBe(true)
    expect(withPeer(whole, ALICE)).toBe(whole)
    expect(withPeer(SOMEWHERE, BOB).toString()).toBe(whole.toString())
    expect(distinct([whole, SOMEWHERE, whole])).toEqual([whole, SOMEWHERE])
    expect([isRelayed(SOMEWHERE), isRelayed(multiaddr(`/ip4/1.1.1.1/tcp/1/p2p/${ALICE.toString()}/p2p-circuit/p2p/${BOB.toString()}`))]).toEqual([false, true])
  })

  it('belong to a dial by peer, or by place if it names none', () => {
    const byPeer = new OwnDial('c1', { peer: BOB, addresses: [] }, false)
    expect([byPeer.isFor(BOB, SOMEWHERE), byPeer.isFor(ALICE, SOMEWHERE), byPeer.isFor(undefined, SOMEWHERE)]).toEqual([true, false, false])
    const byPlace = new OwnDial('c2', { peer: undefined, addresses: [SOMEWHERE] }, false)
    byPlace.addresses = [SOMEWHERE]
    expect([byPlace.isFor(BOB, withPeer(SOMEWHERE, BOB)), byPlace.isFor(BOB, multiaddr('/memory/b')), byPlace.isFor(undefined, SOMEWHERE)]).toEqual([true, false, true])
    byPlace.tried.push(multiaddr('/memory/dead'), SOMEWHERE)
    expect([byPlace.failedBefore(SOMEWHERE).map(String), byPlace.failedBefore(multiaddr('/memory/b'))]).toEqual([['/memory/dead'], []])
  })
})
