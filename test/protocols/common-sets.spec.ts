import { expect, it } from 'vitest'
import { commonSet } from '../../src/protocols/common-sets.ts'
import { RemoteProtocols } from '../../src/protocols/remote-protocols.ts'

const LIMITS = Object.freeze({ maxNames: 100, maxBytes: 10_000, maxNameBytes: 1023 })

it('commonSet gives one set for the same names in the same order, and no other', () => {
  const first = commonSet(new Set(['/a', '/b']))
  expect(commonSet(new Set(['/a', '/b']))).toBe(first)
  expect([...commonSet(new Set(['/b', '/a']))]).toEqual(['/b', '/a'])
})

it('commonSet forgets the sets that nobody asked for the longest, and keeps long ones for nobody', () => {
  const kept = commonSet(new Set(['/kept']))
  const old = commonSet(new Set(['/old']))
  for (let at = 0; at < 63; at++) {
    commonSet(new Set([`/name/${at}`]))
    expect(commonSet(new Set(['/kept']))).toBe(kept)
  }
  expect(commonSet(new Set(['/old']))).not.toBe(old)
  const long = new Set([`/${'a'.repeat(5000)}`])
  expect(commonSet(long)).toBe(long)
  expect(commonSet(new Set(long))).not.toBe(long)
})

it('S3.18: what one connection learns of its peer later on changes no other that began with the same names', () => {
  const [one, other] = [new RemoteProtocols(LIMITS), new RemoteProtocols(LIMITS)]
  for (const remote of [one, other]) {
    remote.apply('host', 'replaced', ['/a', '/b'])
  }
  one.apply('host', 'added', ['/c'])
  one.apply('host', 'removed', ['/a'])
  one.apply('handler', 'added', ['/d'])
  expect(one.toArray()).toEqual(['/b', '/c', '/d'])
  expect(other.toArray()).toEqual(['/a', '/b'])
  other.apply('handler', 'added', ['/a'])
  other.apply('host', 'removed', ['/a', '/b'])
  expect([other.toArray(), one.toArray()]).toEqual([['/a'], ['/b', '/c', '/d']])
})
