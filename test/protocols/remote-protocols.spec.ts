import { describe, expect, it } from 'vitest'
import { RemoteProtocols } from '../../src/protocols/index.ts'
import type { RemoteProtocolsInit, RemoteReportChange } from '../../src/protocols/index.ts'

type Outcome = [isChanged: boolean, added: readonly string[], removed: readonly string[]]

/** Both copy the buffers, so that outcomes can be compared later. */
type Report = (source: unknown, change: RemoteReportChange, protocols: readonly string[]) => Outcome
type Withdraw = (source: unknown) => Outcome

interface Setup {
  readonly remote: RemoteProtocols
  readonly report: Report
  readonly withdraw: Withdraw
}

function remoteProtocols (limits: Partial<RemoteProtocolsInit> = {}): Setup {
  const remote = new RemoteProtocols({ maxNames: 1024, maxBytes: 65_536, maxNameBytes: 1023, ...limits })
  return {
    remote,
    report: (source, change, protocols) => [remote.apply(source, change, protocols), [...remote.added], [...remote.removed]],
    withdraw: source => [remote.withdraw(source), [...remote.added], [...remote.removed]]
  }
}

const nothing: Outcome = [false, [], []]

describe('RemoteProtocols: reports', () => {
  it('only real changes are reported (C09)', () => {
    const { report } = remoteProtocols()
    const part = {}
    expect(report(part, 'added', ['/foo'])).toEqual([true, ['/foo'], []])
    expect(report(part, 'added', ['/foo', '/bar'])).toEqual([true, ['/bar'], []])
    expect(report(part, 'removed', ['/baz'])).toEqual(nothing)
    expect(report(part, 'removed', ['/bar'])).toEqual([true, [], ['/bar']])
    expect(report(part, 'added', [])).toEqual(nothing)
  })

  it('names that look the same in a row are other names (S3.1)', () => {
    for (const names of [['/a', '/b'], ['/a/b'], ['/a/', 'b'], ['/b', '/a']]) {
      const { remote, report } = remoteProtocols()
      report('host', 'replaced', names)
      expect(remote.toArray()).toEqual(names.filter(name => name.startsWith('/')))
    }
  })

  it('of several sources, each takes back its own, and the others stay (S3.18)', () => {
    const { remote, report, withdraw } = remoteProtocols({ maxNames: 2 })
    report('one', 'replaced', ['/a', '/x'])
    report('two', 'replaced', ['/b', '/x'])
    report('three', 'replaced', ['/c', '/d', '/e'])
    expect([remote.sources(), remote.isCut]).toEqual([['one', 'two', 'three'], true])
    expect(withdraw('one')).toEqual([true, [], ['/a']])
    expect(remote.sources()).toEqual(['two', 'three'])
    expect(report('two', 'removed', ['/x'])).toEqual([true, [], ['/x']])
    expect(withdraw('three')).toEqual([true, [], ['/c', '/d']])
    expect([remote.sources(), remote.isCut]).toEqual([['two'], false])
    expect(withdraw('two')).toEqual([true, [], ['/b']])
    expect(withdraw('two')).toEqual(nothing)
    expect([remote.sources(), remote.toArray()]).toEqual([[], []])
  })

  it('a new connection starts empty and reports in full (C18)', () => {
    for (const { remote, report } of [remoteProtocols(), remoteProtocols()]) {
      expect(remote.size).toBe(0)
      expect(report('host', 'replaced', ['/x'])).toEqual([true, ['/x'], []])
    }
  })

  it('replaced is the full set: what it lacks is removed, and an empty one removes all (S3.19, S3.20)', () => {
    const { report } = remoteProtocols()
    report('host', 'replaced', ['/a', '/b', '/c'])
    expect(report('host', 'replaced', ['/d', '/b', '/d'])).toEqual([true, ['/d'], ['/a', '/c']])
    expect(report('host', 'replaced', ['/b', '/d'])).toEqual(nothing)
    expect(report('host', 'replaced', [])).toEqual([true, [], ['/b', '/d']])
    expect(report('host', 'replaced', [])).toEqual(nothing)
  })

  it('a name is added by its first source and removed by its last one (S3.18)', () => {
    const { report, remote } = remoteProtocols()
    const part = {}
    expect(report('host', 'replaced', ['/a', '/b'])).toEqual([true, ['/a', '/b'], []])
    expect(report(part, 'added', ['/b', '/c'])).toEqual([true, ['/c'], []])
    expect(report('host', 'replaced', [])).toEqual([true, [], ['/a']])
    expect(remote.toArray()).toEqual(['/b', '/c'])
    expect(report(part, 'removed', ['/c', '/b', '/b'])).toEqual([true, [], ['/b', '/c']])
  })

  it('a source cannot take back what another reported (S3.18)', () => {
    const { report } = remoteProtocols()
    report('host', 'replaced', ['/a'])
    expect(report({}, 'removed', ['/a'])).toEqual(nothing)
  })

  it('a source that closes withdraws everything that nobody else reports (S3.18)', () => {
    const { report, withdraw, remote } = remoteProtocols()
    const part = {}
    report(part, 'added', ['/a', '/b', '/c'])
    report('host', 'replaced', ['/b'])
    expect(withdraw(part)).toEqual([true, [], ['/a', '/c']])
    expect(withdraw(part)).toEqual(nothing)
    expect(remote.toArray()).toEqual(['/b'])
  })

  it('added is in order of the report, removed in the order of adding, whatever the source (S3.7)', () => {
    const { report, remote } = remoteProtocols()
    expect(report('host', 'replaced', ['/c', '/a'])[1]).toEqual(['/c', '/a'])
    report(1, 'added', ['/b', '/c', '/a'])
    report('host', 'replaced', ['/b'])
    expect([...remote.names()]).toEqual(['/c', '/a', '/b'])
    expect(report(1, 'replaced', ['/b'])[2]).toEqual(['/c', '/a'])
    report('host', 'replaced', ['/b', '/a'])
    expect(report('host', 'replaced', ['/a', '/z'])).toEqual([true, ['/z'], []])
    expect([...remote.names()]).toEqual(['/b', '/a', '/z'])
  })

  it('added and removed describe the last report only, and nothing once they are forgotten', () => {
    const { remote } = remoteProtocols()
    const change = () => [remote.added, remote.removed]
    remote.apply('host', 'replaced', ['/a'])
    expect(change()).toEqual([['/a'], []])
    remote.apply('host', 'replaced', ['/a'])
    expect(change()).toEqual([[], []])
    remote.withdraw('host')
    expect(change()).toEqual([[], ['/a']])
    remote.forget()
    expect(change()).toEqual([[], []])
  })

  it('has, size and toArray show the union', () => {
    const { remote } = remoteProtocols()
    remote.apply('host', 'replaced', ['/a'])
    remote.apply(1, 'added', ['/b', '/a'])
    expect(remote.size).toBe(2)
    expect(remote.has('/b')).toBe(true)
    expect(remote.has('/c')).toBe(false)
    expect(remote.toArray()).toEqual(['/a', '/b'])
    expect(Object.isFrozen(remote.toArray())).toBe(true)
  })

  it('hasReport tells "no" from "not known yet", also after an empty report', () => {
    const { remote } = remoteProtocols()
    expect(remote.hasReport()).toBe(false)
    remote.apply('host', 'replaced', [])
    expect(remote.hasReport()).toBe(true)
    expect(remote.hasReport('host')).toBe(true)
    expect(remote.hasReport(1)).toBe(false)
    remote.apply(1, 'removed', ['/a'])
    expect(remote.hasReport(1)).toBe(true)
    remote.withdraw('host')
    remote.withdraw(1)
    expect(remote.hasReport()).toBe(false)
  })

  it('a report that cannot be read throws and changes nothing', () => {
    const { remote } = remoteProtocols()
    remote.apply('host', 'replaced', ['/a'])
    for (const change of ['added', 'removed', 'replaced'] as const) {
      // @ts-expect-error -- authors without types exist
      expect(() => remote.apply('host', change, undefined)).toThrow(TypeError)
    }
    expect(remote.toArray()).toEqual(['/a'])
    expect(remote.withdraw('host')).toBe(true)
    expect(remote.size).toBe(0)
  })
})

describe('RemoteProtocols: limits (S3.21)', () => {
  it('one source holds maxNames names: the first ones are kept, the rest dropped and counted', () => {
    const { report, remote } = remoteProtocols({ maxNames: 2 })
    expect(report('host', 'replaced', ['/a', '/a', '/b', '/c', '/d'])).toEqual([true, ['/a', '/b'], []])
    expect(remote.truncated).toEqual({ kept: 2, dropped: 2 })
    expect(report(1, 'replaced', ['/c', '/d'])).toEqual([true, ['/c', '/d'], []])
    expect(remote.truncated).toBeUndefined()
  })

  it('one source holds maxBytes bytes: from the first name that does not fit, none is kept', () => {
    const { report, remote } = remoteProtocols({ maxBytes: 6 })
    expect(report('host', 'replaced', ['/é', '/long', '/b'])).toEqual([true, ['/é'], []])
    expect(remote.truncated).toEqual({ kept: 1, dropped: 2 })
    expect(report('host', 'replaced', ['/é', '/bc'])).toEqual([true, ['/bc'], []])
    expect(remote.truncated).toBeUndefined()
  })

  it('a full source takes no new names, keeps its old ones, and has room again when some are removed', () => {
    const { report, remote } = remoteProtocols({ maxNames: 3, maxBytes: 4 })
    report(1, 'added', ['/a', '/b'])
    expect(report(1, 'added', ['/c', '/a'])).toEqual(nothing)
    expect(remote.truncated).toEqual({ kept: 2, dropped: 1 })
    expect(report(1, 'removed', ['/a', '/x'])).toEqual([true, [], ['/a']])
    expect(remote.truncated).toBeUndefined()
    expect(report(1, 'added', ['/c'])).toEqual([true, ['/c'], []])
  })

  it('names that can never be opened are left out and counted', () => {
    const { report, remote } = remoteProtocols({ maxNameBytes: 4 })
    expect(report('host', 'replaced', ['noslash', '/a', '/long', '/b\n'])).toEqual([true, ['/a'], []])
    expect(remote.truncated).toEqual({ kept: 1, dropped: 3 })
    // @ts-expect-error -- authors without types exist
    report(1, 'added', [undefined])
    expect(remote.truncated).toEqual({ kept: 0, dropped: 1 })
  })

  it('knows whether an absent name may be among those that were cut off, until the source has said all of it anew (S8.11)', () => {
    const { remote, report, withdraw } = remoteProtocols({ maxNames: 2 })
    report('host', 'replaced', ['/a', 'no-slash'])
    expect(remote.isCut).toBe(false)
    report('host', 'replaced', ['/a', '/b', '/c'])
    expect(remote.isCut).toBe(true)
    report('host', 'removed', ['/a'])
    report('handler', 'added', ['/a'])
    expect(remote.isCut).toBe(true)
    report('host', 'replaced', ['/c'])
    expect(remote.isCut).toBe(false)
    report('handler', 'added', ['/d', '/e'])
    expect(remote.isCut).toBe(true)
    withdraw('handler')
    expect(remote.isCut).toBe(false)
  })

  it('truncated describes the last report only', () => {
    const { remote } = remoteProtocols({ maxNames: 1 })
    remote.apply('host', 'replaced', ['/a', '/b'])
    expect(remote.truncated).toEqual({ kept: 1, dropped: 1 })
    remote.withdraw('host')
    expect(remote.truncated).toBeUndefined()
  })

  it('the limits are its own: the object they came in may change', () => {
    const limits = { maxNames: 1, maxBytes: 100, maxNameBytes: 100 }
    const remote = new RemoteProtocols(limits)
    limits.maxNames = 2
    remote.apply('host', 'replaced', ['/a', '/b'])
    expect(remote.toArray()).toEqual(['/a'])
  })
})
