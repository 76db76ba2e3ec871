import { handle, select } from '@libp2p/multistream-select'
import { byteStream } from '@libp2p/utils'
import { DialerNegotiation, ListenerNegotiation } from 'libp2p-behaviours/negotiation'
import { LocalProtocols } from 'libp2p-behaviours/protocols'
import { describe, expect, it } from 'vitest'
import { negotiateOver } from '../support/negotiate-over.ts'
import { streamPair } from '../support/stream-pair.ts'
import { toHex, wire } from '../support/wire.ts'
import type { Stream } from '@libp2p/interface'

const LONG = `/${'long'.repeat(250)}`
const MANY = Array.from({ length: 64 }, (_, index) => `/many/${index}`)

const dialer = (names: readonly string[]) => new DialerNegotiation(names)
function listener (names: readonly string[]) {
  const protocols = new LocalProtocols({ maxProtocols: 1024, maxNameBytes: 1023 })
  protocols.update(names, [])
  return new ListenerNegotiation(protocols.snapshot())
}

/** Both directions work after the negotiation, and nothing of it is left in front of the data. */
async function expectOpen (left: Stream, right: Stream): Promise<void> {
  for (const [from, to] of [[left, right], [right, left]] as const) {
    from.send(wire('ping'))
    const reader = byteStream(to)
    expect(toHex((await reader.read({ bytes: 4 })).subarray())).toBe(toHex(wire('ping')))
    reader.unwrap()
  }
}

/** What the dialer proposes, what the listener has, and what they agree on. */
const AGREEMENTS = [
  { title: 'one name', dialed: ['/a'], listed: ['/a'], agreed: '/a' },
  { title: 'the last of the listener', dialed: ['/a'], listed: ['/b', '/c', '/a'], agreed: '/a' },
  { title: 'the first of the dialer that the listener has', dialed: ['/a', '/b', '/c'], listed: ['/c', '/b'], agreed: '/b' },
  { title: 'a name beyond ASCII', dialed: ['/ünïcödé/名前'], listed: ['/ünïcödé/名前'], agreed: '/ünïcödé/名前' },
  { title: 'a long name', dialed: [LONG], listed: ['/a', LONG], agreed: LONG },
  { title: 'a name after a refused long one', dialed: ['/a', LONG, '/b'], listed: ['/b'], agreed: '/b' },
  { title: 'the last of 64', dialed: MANY, listed: ['/many/63'], agreed: '/many/63' }
]

describe('our dialer and the stock handle', () => {
  it.each(AGREEMENTS)('agree on $title', async ({ dialed, listed, agreed }) => {
    const [outbound, inbound] = streamPair()
    const [ours, stock] = await Promise.all([negotiateOver(outbound, dialer(dialed)), handle(inbound, listed)])
    expect(ours).toMatchObject({ type: 'ok', protocol: agreed })
    expect(stock).toBe(agreed)
    await expectOpen(outbound, inbound)
  })

  it('do not agree when the stock side has none of the names', async () => {
    const [outbound, inbound] = streamPair()
    const stock = handle(inbound, ['/c'])
    expect(await negotiateOver(outbound, dialer(['/a', '/b']))).toEqual({ type: 'failed', detail: 'refused' })
    outbound.abort(new Error('refused'))
    await expect(stock).rejects.toThrow()
  })

  it('leave alone what the stock side sends right after its confirmation', async () => {
    const [outbound, inbound] = streamPair()
    const stock = handle(inbound, ['/a']).then(() => inbound.send(wire('pong')))
    expect(await negotiateOver(outbound, dialer(['/a']))).toMatchObject({ type: 'ok' })
    expect(toHex((await byteStream(outbound).read({ bytes: 4 })).subarray())).toBe(toHex(wire('pong')))
    await stock
  })
})

describe('the stock select and our listener', () => {
  it.each(AGREEMENTS)('agree on $title', async ({ dialed, listed, agreed }) => {
    const [outbound, inbound] = streamPair()
    const [stock, ours] = await Promise.all([select(outbound, dialed), negotiateOver(inbound, listener(listed))])
    expect(stock).toBe(agreed)
    expect(ours).toMatchObject({ type: 'ok', protocol: agreed, match: { name: agreed } })
    await expectOpen(outbound, inbound)
  })

  it('do not agree when our side has none of the names', async () => {
    const [outbound, inbound] = streamPair()
    const ours = negotiateOver(inbound, listener(['/c']))
    await expect(select(outbound, ['/a', '/b'])).rejects.toMatchObject({ name: 'UnsupportedProtocolError' })
    await outbound.close()
    expect(await ours).toEqual({ type: 'failed', detail: 'fin' })
  })

  it('see a reset when the stock side aborts', async () => {
    const [outbound, inbound] = streamPair()
    const ours = negotiateOver(inbound, listener(['/c']))
    await expect(select(outbound, ['/a'])).rejects.toThrow()
    outbound.abort(new Error('gave up'))
    expect(await ours).toEqual({ type: 'reset' })
  })

  it('N25: keep data that came with the proposal in front of what comes later', async () => {
    const [outbound, inbound] = streamPair()
    outbound.send(wire('HDR A 61 62'))
    outbound.send(wire('63 64'))
    expect(await negotiateOver(inbound, listener(['/a']))).toMatchObject({ type: 'ok' })
    expect(toHex((await byteStream(inbound).read({ bytes: 4 })).subarray())).toBe('61626364')
  })
})

describe('our dialer and our listener', () => {
  it.each(AGREEMENTS)('agree on $title', async ({ dialed, listed, agreed }) => {
    const [outbound, inbound] = streamPair()
    const [left, right] = await Promise.all([negotiateOver(outbound, dialer(dialed)), negotiateOver(inbound, listener(listed))])
    expect([left, right]).toMatchObject([{ type: 'ok', protocol: agreed }, { type: 'ok', protocol: agreed }])
    await expectOpen(outbound, inbound)
  })
})
