import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import { Connection } from '../../src/connection/index.ts'
import { foldReports } from '../../src/connection/folded-reports.ts'
import { Reports } from '../../src/connection/reports.ts'
import { RecordingHandler, ScriptedConnection, ScriptedMuxer } from '../../src/testing/index.ts'
import { reportsOf } from '../support/scripted.ts'
import type { ConnectionReport } from '../../src/connection/index.ts'
import type { RemoteReport } from '../../src/connection/folded-reports.ts'

function unread () {
  const handler = new RecordingHandler()
  const interest = { protocolChanges: true }
  const connection = new Connection({ id: 'c', peer: 'p', direction: 'inbound', handler, muxer: new ScriptedMuxer(), wake: () => {}, interest }, { idleTimeoutMs: Infinity }, 0)
  const read = (): ConnectionReport[] => {
    const all: ConnectionReport[] = []
    for (let next = connection.pollReport(); next !== PENDING; next = connection.pollReport()) {
      all.push(next)
    }
    return all
  }
  const list = (...names: string[]) => {
    handler.protocols = names
    handler.wake()
    connection.poll(0)
  }
  return { connection, read, list }
}

/** What a reader counts who adds the changes of one side up. */
function fold (reports: readonly ConnectionReport[], side: 'local' | 'remote'): string[] {
  const names = new Set<string>()
  for (const report of reports) {
    if (report.type === 'protocols-change' && report.side === side) {
      for (const name of report.added) {
        expect(names.has(name)).toBe(false)
        names.add(name)
      }
      for (const name of report.removed) {
        expect(names.delete(name)).toBe(true)
      }
    }
  }
  return [...names].sort()
}

describe('reports that nobody reads', () => {
  it('S9.1: are counted beyond 1024, and the number is told behind the others, once', () => {
    const { connection, read } = unread()
    // The first report is that the connection is idle.
    for (let address = 0; address < 2000; address++) {
      connection.handleAddressChange(address)
      connection.poll(0)
    }
    const reports = read()
    expect(reports).toHaveLength(1025)
    expect(reports.at(-1)).toEqual({ type: 'limit-reached', option: 'maxReports', limit: 1024, count: 977 })
    connection.handleAddressChange('there')
    connection.poll(0)
    expect(read()).toEqual([{ type: 'address-change', address: 'there' }])
  })

  it('S3.15: of changes are folded, so that who adds them up has the last state of both sides', () => {
    const { connection, read, list } = unread()
    for (let round = 0; round < 1500; round++) {
      list(`/local/${round}`, `/${round % 3}`)
    }
    connection.handleRemoteReport('replaced', ['/remote'])
    connection.poll(0)
    const reports = read()
    expect(reports.length).toBeLessThanOrEqual(1024 + 2)
    expect(fold(reports, 'local')).toEqual([...connection.localProtocols.toArray()].sort())
    expect(fold(reports, 'remote')).toEqual(['/remote'])
    expect(reports.filter(({ type }) => type === 'limit-reached')).toEqual([])
    list('/local/1499')
    expect(read()).toEqual([{ type: 'protocols-change', side: 'local', added: [], removed: ['/2'] }])
  })

  it('S10.8: fold to the same sets in any order of changes and reads', () => {
    fc.assert(fc.property(fc.array(fc.tuple(fc.constantFrom('local', 'remote'), fc.nat(4), fc.nat(3)), { maxLength: 60 }), (steps) => {
      const reports = new Reports()
      for (let filled = 0; filled < 1000; filled++) {
        reports.push({ type: 'connection-idle', until: 0 })
      }
      const sets = { local: new Set<string>(), remote: new Set<string>() }
      const seen: ConnectionReport[] = []
      for (const [side, name, reads] of steps) {
        const set = sets[side]
        const text = `/${name}`
        const isAdded = !set.has(text)
        if (isAdded) { set.add(text) } else { set.delete(text) }
        reports.push({ type: 'protocols-change', side, added: isAdded ? [text] : [], removed: isAdded ? [] : [text] })
        for (let left = reads * 200; left > 0; left--) {
          const next = reports.shift()
          if (next !== undefined) { seen.push(next) }
        }
      }
      for (let next = reports.shift(); next !== undefined; next = reports.shift()) { seen.push(next) }
      expect(fold(seen, 'local')).toEqual([...sets.local].sort())
      expect(fold(seen, 'remote')).toEqual([...sets.remote].sort())
      expect(reports.isEmpty).toBe(true)
    }), { numRuns: 50 })
  })
})

describe('changes that find no room', () => {
  const full = () => {
    const reports = new Reports()
    for (let filled = 0; filled < 1024; filled++) {
      reports.push({ type: 'connection-idle', until: 0 })
    }
    return reports
  }
  const rest = (reports: Reports) => Array.from({ length: 1100 }, () => reports.shift()).filter(report => report?.type === 'protocols-change')

  it('S10.8: are not overtaken by later ones when there is room again', () => {
    const reports = full()
    reports.push({ type: 'protocols-change', side: 'local', added: ['/x'], removed: [] })
    reports.shift()
    reports.push({ type: 'protocols-change', side: 'local', added: ['/y'], removed: [] })
    reports.push({ type: 'protocols-change', side: 'remote', added: ['/r'], removed: [] })
    expect(rest(reports)).toEqual([
      { type: 'protocols-change', side: 'remote', added: ['/r'], removed: [] },
      { type: 'protocols-change', side: 'local', added: ['/x', '/y'], removed: [] }
    ])
  })

  it('S10.7: are not told when they come to nothing', () => {
    const reports = full()
    reports.push({ type: 'protocols-change', side: 'local', added: ['/x'], removed: [] })
    reports.push({ type: 'protocols-change', side: 'local', added: [], removed: ['/x'] })
    expect(rest(reports)).toEqual([])
    expect(reports.isEmpty).toBe(true)
  })
})

describe('limit-reached', () => {
  const flood = (init = {}) => {
    const test = new ScriptedConnection(new RecordingHandler(), { init: { idleTimeoutMs: Infinity, ...init } })
    return { test, counts: () => reportsOf(test, 'limit-reached').map(({ option, count }) => [option, count]) }
  }

  it('S9.1: tells the count of the last second by itself, though the flood is over', () => {
    const { test, counts } = flood({ maxOpenInboundStreams: 0 })
    for (let times = 0; times < 5; times++) { test.offer() }
    expect(counts()).toEqual([['maxOpenInboundStreams', 1]])
    expect(test.connection.pollTimeout()).toBe(1000)
    test.advance(999)
    expect(counts()).toHaveLength(1)
    test.advance(1)
    expect(counts()).toEqual([['maxOpenInboundStreams', 1], ['maxOpenInboundStreams', 4]])
    test.advance(10_000)
    expect(counts()).toHaveLength(2)
    expect(test.connection.pollTimeout()).toBe(Infinity)
  })

  it('S9.1: is not lost with the connection', () => {
    const { test, counts } = flood({ maxOpenInboundStreams: 0 })
    for (let times = 0; times < 5; times++) { test.offer() }
    test.connection.abort(new Error('enough'))
    test.drive()
    expect(test.connection.status.phase).toBe('closed')
    expect(counts()).toEqual([['maxOpenInboundStreams', 1], ['maxOpenInboundStreams', 4]])
  })

  it('S7.12: tells of messages that were refused in the turn in which the connection closed', () => {
    const { test, counts } = flood({ maxQueuedBehaviourEvents: 1 })
    expect([1, 2, 3].map((event) => test.connection.onBehaviourEvent(event))).toEqual([true, false, false])
    test.connection.abort(new Error('enough'))
    test.drive()
    expect(counts()).toEqual([['maxQueuedBehaviourEvents', 2]])
  })
})

describe('several limits', () => {
  it('S9.1: are told each a second after its own last report, and only if they were met since', () => {
    const handler = new RecordingHandler()
    const test = new ScriptedConnection(handler, {
      init: { idleTimeoutMs: Infinity, maxQueuedBehaviourEvents: 0, maxOpenInboundStreams: 0, maxQueuedOutboundRequests: 0 }
    })
    handler.request(['/a'])
    test.drive()
    const told = () => reportsOf(test, 'limit-reached').slice(1).map(({ option, count }) => [option, count])
    const message = () => {
      test.connection.onBehaviourEvent(1)
      test.drive()
    }
    message()
    test.advance(100)
    message()
    test.advance(400)
    test.offer()
    test.advance(100)
    test.offer()
    expect(told()).toEqual([['maxQueuedBehaviourEvents', 1], ['maxOpenInboundStreams', 1]])
    expect(test.connection.pollTimeout()).toBe(1000)
    test.advance(400)
    expect(told().slice(2)).toEqual([['maxQueuedBehaviourEvents', 1]])
    expect(test.connection.pollTimeout()).toBe(1500)
    test.advance(500)
    expect(told().slice(3)).toEqual([['maxOpenInboundStreams', 1]])
    expect(test.connection.pollTimeout()).toBe(Infinity)
  })
})

describe('reports of the host that wait', () => {
  const waiting = () => {
    const test = new ScriptedConnection(new RecordingHandler(), { init: { idleTimeoutMs: Infinity } })
    test.connection.handleRemoteReport('replaced', ['/a', '/b'])
    test.drive()
    return test
  }

  it('S3.20: take back what is held, however many they are, and not before their time', () => {
    const test = waiting()
    test.connection.handleRemoteReport('removed', ['/a'])
    for (let round = 0; round < 200; round++) {
      test.connection.handleRemoteReport('added', ['/c'])
    }
    test.drive()
    expect(test.connection.remoteProtocols.toArray()).toEqual(['/a', '/b'])
    test.advance(100)
    expect(test.connection.remoteProtocols.toArray()).toEqual(['/b', '/c'])
  })

  it('S3.20: may come to nothing', () => {
    const test = waiting()
    for (let round = 0; round < 200; round++) {
      test.connection.handleRemoteReport('removed', ['/x'])
    }
    test.advance(100)
    expect(test.connection.remoteProtocols.toArray()).toEqual(['/a', '/b'])
    expect(reportsOf(test, 'protocols-change').filter(({ side }) => side === 'remote')).toHaveLength(1)
  })

  it('S3.19: are folded into what is taken away and what is added, or into one full report', () => {
    const isHeld = (name: string) => name === '/held'
    expect(foldReports([{ change: 'removed', protocols: ['/held', '/x'] }, { change: 'added', protocols: ['/y'] }], isHeld))
      .toEqual([{ change: 'removed', protocols: ['/held'] }, { change: 'added', protocols: ['/y'] }])
    expect(foldReports([{ change: 'removed', protocols: ['/x'] }], isHeld)).toEqual([])
    expect(foldReports([{ change: 'added', protocols: ['/x'] }, { change: 'replaced', protocols: ['/y'] }, { change: 'removed', protocols: ['/y'] }], isHeld))
      .toEqual([{ change: 'replaced', protocols: [] }])
  })

  it('S9.1: do not pile up, and lead to the same set', () => {
    const test = new ScriptedConnection(new RecordingHandler(), { init: { idleTimeoutMs: Infinity } })
    test.connection.handleRemoteReport('replaced', ['/a', '/b'])
    test.drive()
    const names = new Set(['/a', '/b'])
    for (let round = 0; round < 5000; round++) {
      const name = `/${(round * 7) % 50}`
      const change = round % 3 === 0 ? 'removed' : 'added'
      if (change === 'added') { names.add(name) } else { names.delete(name) }
      test.connection.handleRemoteReport(change, [name])
    }
    test.advance(100)
    expect([...test.connection.remoteProtocols.toArray()].sort()).toEqual([...names].sort())
    expect(test.connection.pollTimeout()).toBe(Infinity)
  })

  it('S9.1: are applied at once when they hold more names than are kept', () => {
    const test = new ScriptedConnection(new RecordingHandler(), { init: { idleTimeoutMs: Infinity, maxRemoteProtocols: 10 } })
    test.connection.handleRemoteReport('replaced', [])
    test.drive()
    for (let round = 0; round < 200; round++) {
      test.connection.handleRemoteReport('added', [`/${round}`])
      test.drive()
    }
    expect(test.connection.remoteProtocols.size).toBe(10)
    expect(reportsOf(test, 'protocols-truncated').length).toBeGreaterThan(0)
  })

  it('S3.19: folding them means the same as applying them one by one', () => {
    const names = fc.subarray(['/a', '/b', '/c', '/d'])
    const report = fc.record({ change: fc.constantFrom('added' as const, 'removed' as const, 'replaced' as const), protocols: names })
    fc.assert(fc.property(names, fc.array(report), (held, reports) => {
      const apply = (all: readonly RemoteReport[]): string[] => {
        const set = new Set(held)
        for (const { change, protocols } of all) {
          if (change === 'replaced') { set.clear() }
          for (const name of protocols) {
            if (change === 'removed') { set.delete(name) } else { set.add(name) }
          }
        }
        return [...set].sort()
      }
      const folded = foldReports(reports, (name) => held.includes(name))
      expect(folded.length).toBeLessThanOrEqual(2)
      expect(apply(folded)).toEqual(apply(reports))
    }))
  })
})
