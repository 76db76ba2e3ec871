import { describe, expect, it } from 'vitest'
import { ProtocolsNotice, SupportedProtocols } from '../../src/protocols/index.ts'

describe('SupportedProtocols (S3.17)', () => {
  it('tells whether a method changed the set (C09)', () => {
    const protocols = new SupportedProtocols()
    expect(protocols.remove(['/foo'])).toBe(false)
    expect(protocols.add(['/foo'])).toBe(true)
    expect(protocols.add(['/foo'])).toBe(false)
    expect(protocols.add(['/foo', '/bar'])).toBe(true)
    expect(protocols.add([])).toBe(false)
    expect(protocols.remove(['/foo'])).toBe(true)
    expect([...protocols]).toEqual(['/bar'])
  })

  it('apply follows the changes that a handler is told', () => {
    const protocols = new SupportedProtocols()
    expect(protocols.apply(new ProtocolsNotice('added', ['/a', '/b']).change)).toBe(true)
    expect(protocols.apply(new ProtocolsNotice('added', ['/b']).change)).toBe(false)
    expect(protocols.apply(new ProtocolsNotice('removed', ['/c']).change)).toBe(false)
    expect(protocols.apply(new ProtocolsNotice('removed', ['/a', '/c']).change)).toBe(true)
    expect(protocols.size).toBe(1)
    expect(protocols.has('/b')).toBe(true)
    expect(protocols.has('/a')).toBe(false)
  })

  it('keeps the names when the change is no longer valid', () => {
    const protocols = new SupportedProtocols()
    const notice = new ProtocolsNotice('added', ['/a'])
    protocols.apply(notice.change)
    notice.end()
    expect([...protocols]).toEqual(['/a'])
    expect(() => protocols.apply(notice.change)).toThrow(expect.objectContaining({ name: 'InvalidStateError' }))
  })
})
