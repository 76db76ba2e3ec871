import { describe, expect, it } from 'vitest'
import { ProtocolList } from '../../src/protocols/index.ts'
import { isProtocolList } from '../../src/protocols/protocol-list.ts'

class CountingWaker {
  wakes = 0
  wake (): void { this.wakes++ }
}

describe('ProtocolList (S3.16)', () => {
  it('refuses a string for a list of names, and then nothing has changed', () => {
    const refusal = new TypeError('Cannot make a list of protocols of a string: give an array of names, such as ["/abc"]')
    expect(() => new ProtocolList('/abc')).toThrow(refusal)
    const list = new ProtocolList(['/a'])
    expect(() => list.replace('/abc')).toThrow(refusal)
    expect(list.snapshot).toEqual(['/a'])
  })

  it('starts empty, or with the distinct names it is given, at version 0', () => {
    expect(new ProtocolList().snapshot).toEqual([])
    const list = new ProtocolList(['/b', '/a', '/b'])
    expect(list.snapshot).toEqual(['/b', '/a'])
    expect(list.version).toBe(0)
  })

  it('add appends missing names, and tells whether there were any', () => {
    const list = new ProtocolList(['/a'])
    expect(list.add('/b', '/a', '/c')).toBe(true)
    expect(list.add('/c')).toBe(false)
    expect(list.add()).toBe(false)
    expect(list.snapshot).toEqual(['/a', '/b', '/c'])
  })

  it('delete takes names out, and tells whether any was there', () => {
    const list = new ProtocolList(['/a', '/b'])
    expect(list.delete('/x', '/a')).toBe(true)
    expect(list.delete('/a')).toBe(false)
    expect(list.snapshot).toEqual(['/b'])
  })

  it('replace makes the names the whole list, and tells whether the set changed', () => {
    const list = new ProtocolList(['/a', '/b'])
    expect(list.replace(['/c', '/a'])).toBe(true)
    expect(list.snapshot).toEqual(['/c', '/a'])
    expect(list.replace(new Set(['/a', '/c']))).toBe(false)
    expect(list.snapshot).toEqual(['/c', '/a'])
    expect(list.replace(['/c', '/d'])).toBe(true)
    expect(list.replace([])).toBe(true)
    expect(list.replace([])).toBe(false)
  })

  it('version grows with real changes only', () => {
    const list = new ProtocolList()
    const versions = [
      list.add('/a'), list.add('/a'), list.delete('/b'), list.replace(['/a']), list.replace(['/b']), list.delete('/b')
    ].map(isChanged => [isChanged, list.version])
    expect(versions.map(([isChanged]) => isChanged)).toEqual([true, false, false, false, true, true])
    expect(list.version).toBe(3)
  })

  it('snapshot is frozen, the same until a real change, and stays as it was after one', () => {
    const list = new ProtocolList(['/a'])
    const before = list.snapshot
    expect(Object.isFrozen(before)).toBe(true)
    list.add('/a')
    expect(list.snapshot).toBe(before)
    list.add('/b')
    expect(before).toEqual(['/a'])
    expect(list.snapshot).toEqual(['/a', '/b'])
  })

  it('an invalid name throws and changes nothing, whatever stood before it (N29)', () => {
    const list = new ProtocolList(['/a'])
    const waker = new CountingWaker()
    list.attach(waker)
    expect(() => new ProtocolList(['a'])).toThrow(TypeError)
    expect(() => list.add('/b', 'c')).toThrow(TypeError)
    expect(() => list.delete('/a', 'c')).toThrow(TypeError)
    expect(() => list.replace(['/b', `/${'c'.repeat(16_382)}`])).toThrow(RangeError)
    expect(list.snapshot).toEqual(['/a'])
    expect(list.version).toBe(0)
    expect(waker.wakes).toBe(0)
  })

  it('a real change wakes every attached waker once, and no detached one', () => {
    const list = new ProtocolList()
    const [kept, twice, gone] = [new CountingWaker(), new CountingWaker(), new CountingWaker()]
    list.attach(kept)
    list.attach(twice)
    list.attach(twice)
    list.attach(gone)
    list.detach(gone)
    list.add('/a', '/b')
    list.add('/a')
    expect([kept.wakes, twice.wakes, gone.wakes]).toEqual([1, 1, 0])
    list.detach(twice)
    list.replace(['/c'])
    expect([kept.wakes, twice.wakes, gone.wakes]).toEqual([2, 1, 0])
  })

  it('has changed already when it wakes', () => {
    const list = new ProtocolList()
    const seen: unknown[] = []
    list.attach({ wake: () => { seen.push(list.version, list.snapshot) } })
    list.add('/a')
    expect(seen).toEqual([1, ['/a']])
  })

  it('is told apart from an array', () => {
    expect(isProtocolList(new ProtocolList())).toBe(true)
    expect(isProtocolList(Object.freeze(['/a']))).toBe(false)
  })
})
