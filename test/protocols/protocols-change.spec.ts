import { describe, expect, it } from 'vitest'
import { ProtocolsNotice } from '../../src/protocols/index.ts'

const outOfTurn: unknown = expect.objectContaining({ name: 'InvalidStateError' })

describe('ProtocolsNotice', () => {
  it('shows type and names of the change (S3.9)', () => {
    const { change } = new ProtocolsNotice('removed', ['/b', '/a'])
    expect(change.type).toBe('removed')
    expect(change.protocols.size).toBe(2)
    expect([...change.protocols]).toEqual(['/b', '/a'])
    expect(change.protocols.has('/a')).toBe(true)
    expect(change.protocols.has('/c')).toBe(false)
  })

  it('toArray gives one frozen copy to all who ask, and it outlives the buffer (S3.11)', () => {
    const buffer = ['/a']
    const notice = new ProtocolsNotice('added', buffer)
    const copy = notice.change.protocols.toArray()
    expect(Object.isFrozen(copy)).toBe(true)
    expect(notice.change.protocols.toArray()).toBe(copy)
    notice.end()
    buffer.length = 0
    expect(copy).toEqual(['/a'])
  })

  it('copies no name unless asked: it reads the buffer it was lent (S3.11)', () => {
    const buffer = ['/a']
    const notice = new ProtocolsNotice('added', buffer)
    expect(notice.names).toBe(buffer)
  })

  it('every use after the callback throws InvalidStateError (S3.11)', () => {
    const notice = new ProtocolsNotice('added', ['/a'])
    const { protocols } = notice.change
    protocols.toArray()
    notice.end()
    expect(() => protocols.size).toThrow(outOfTurn)
    expect(() => protocols.has('/a')).toThrow(outOfTurn)
    expect(() => protocols.toArray()).toThrow(outOfTurn)
    expect(() => [...protocols]).toThrow(outOfTurn)
    expect(() => notice.names).toThrow('Cannot read protocols of a change: they are valid during its callback only, keep what toArray() gives')
  })

  it('an iterator kept from the callback throws, even when the buffer is lent again (S3.11)', () => {
    const buffer = ['/a', '/b']
    const first = new ProtocolsNotice('added', buffer)
    const kept = first.change.protocols[Symbol.iterator]()
    expect(kept.next().value).toBe('/a')
    first.end()
    const second = new ProtocolsNotice('removed', buffer)
    expect(() => kept.next()).toThrow(outOfTurn)
    expect(second.change.protocols.size).toBe(2)
  })

  it('a handler cannot turn one change into another', () => {
    const { change } = new ProtocolsNotice('added', ['/a'])
    expect(() => Object.assign(change, { type: 'removed' })).toThrow(TypeError)
  })
})
