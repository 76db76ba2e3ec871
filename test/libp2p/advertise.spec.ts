import { describe, expect, it } from 'vitest'
import { Advertiser } from '../../src/libp2p/advertise.ts'
import { HostProtocolFeed } from '../../src/libp2p/host-protocols.ts'
import { ManualScheduler } from '../support/manual-scheduler.ts'
import { RecordingHost } from '../support/host-parts.ts'

/** Handles our entries in the registrar. */
const serve = (): void => {}

function advertising () {
  const host = new RecordingHost()
  const scheduler = new ManualScheduler()
  const feed = new HostProtocolFeed(host.registrar as never, serve)
  const errors: unknown[] = []
  const node = { declared: [] as readonly string[] }
  const advertiser = new Advertiser({
    peerId: undefined as never,
    peerStore: host.peerStore as never,
    registrar: host.registrar as never,
    host: feed,
    scheduler,
    log: { error: (...args: unknown[]) => { errors.push(args.at(-1)) } },
    declared: () => node.declared
  })
  return {
    host, feed, scheduler, errors, node, advertiser,
    /** A turn ends. */
    settle: async () => {
      advertiser.schedule()
      scheduler.run(scheduler.macrotasks)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

describe('Advertiser (S3.22)', () => {
  it('announces nothing before it is started, then everything with one patch, which goes first', async () => {
    const { host, advertiser, node, settle } = advertising()
    host.register('/ping')
    node.declared = ['/a', '/b']
    await settle()
    expect(host.takeCalls()).toEqual([])
    await advertiser.start()
    expect(host.takeCalls()).toEqual(['patch /a /b /ping', 'handle /a', 'handle /b'])
    expect(host.handlers.get('/a')).toBe(serve)
  })

  it('makes one patch for all that changed in a turn, and none when nothing did', async () => {
    const { host, advertiser, node, scheduler, settle } = advertising()
    node.declared = ['/a', '/b']
    await advertiser.start()
    host.takeCalls()
    await settle()
    expect(host.takeCalls()).toEqual([])
    node.declared = ['/b', '/c', '/d']
    advertiser.schedule()
    advertiser.schedule()
    expect(scheduler.macrotasks).toHaveLength(1)
    await settle()
    expect(host.takeCalls()).toEqual(['patch /b /c /d', 'handle /c', 'handle /d', 'unhandle /a'])
  })

  it('announces what any connection offers, until the last one no longer does', async () => {
    const { host, advertiser, settle } = advertising()
    await advertiser.start()
    advertiser.offersChanged(['/x', '/y'], [])
    advertiser.offersChanged(['/x'], [])
    await settle()
    expect(host.takeCalls()).toEqual(['patch /x /y', 'handle /x', 'handle /y'])
    advertiser.offersChanged([], ['/x', '/y'])
    await settle()
    expect(host.takeCalls()).toEqual(['patch /x', 'unhandle /y'])
    advertiser.offersChanged([], ['/x'])
    await settle()
    expect(host.takeCalls()).toEqual(['patch ', 'unhandle /x'])
  })

  it('leaves out what is no protocol name, and what another service has', async () => {
    const { host, feed, advertiser, node } = advertising()
    host.register('/ping')
    feed.refresh()
    node.declared = ['bad', '/ping', '/a']
    await advertiser.start()
    expect(host.takeCalls()).toEqual(['patch /a /ping', 'handle /a'])
  })

  it('does not step in for a service while connections still list its name as the host\'s', async () => {
    const { host, feed, advertiser, settle } = advertising()
    host.register('/ping')
    feed.refresh()
    await advertiser.start()
    advertiser.offersChanged(['/ping'], [])
    host.unregister('/ping')
    await settle()
    expect(host.takeCalls()).toEqual([])
    feed.refresh()
    advertiser.offersChanged([], ['/ping'])
    await settle()
    expect(host.takeCalls()).toEqual([])
  })

  it('leaves an entry that a service took over by force to it', async () => {
    const { host, feed, advertiser, node, settle } = advertising()
    node.declared = ['/a']
    await advertiser.start()
    host.takeCalls()
    host.register('/a')
    feed.refresh()
    advertiser.hostChanged()
    await settle()
    node.declared = []
    await settle()
    expect(host.takeCalls()).toEqual([])
    expect(host.handlers.has('/a')).toBe(true)
  })

  it('puts an entry back that somebody removed', async () => {
    const { host, advertiser, node, settle } = advertising()
    node.declared = ['/a', '/b']
    await advertiser.start()
    host.takeCalls()
    await host.registrar.unhandle('/a')
    advertiser.hostChanged()
    await settle()
    expect(host.takeCalls()).toEqual(['unhandle /a', 'patch /a /b', 'handle /a'])
    await host.registrar.unhandle('/b')
    host.takeCalls()
    node.declared = ['/a']
    await settle()
    expect(host.takeCalls()).toEqual([])
  })

  it('takes everything back at the end, and may be started again', async () => {
    const { host, advertiser, node, scheduler } = advertising()
    node.declared = ['/a']
    await advertiser.start()
    advertiser.schedule()
    await advertiser.stop()
    scheduler.run(scheduler.macrotasks)
    advertiser.schedule()
    expect(scheduler.macrotasks).toEqual([])
    expect(host.takeCalls()).toEqual(['patch /a', 'handle /a', 'patch ', 'unhandle /a'])
    await advertiser.start()
    expect(host.takeCalls()).toEqual(['patch /a', 'handle /a'])
  })

  it('logs what the peer store throws, and goes on', async () => {
    const { host, advertiser, node, errors, settle } = advertising()
    host.isBroken = true
    node.declared = ['/a']
    await advertiser.start()
    expect(errors).toMatchObject([{ message: 'the disk is full' }])
    host.isBroken = false
    node.declared = ['/a', '/b']
    await settle()
    expect(host.protocols).toEqual(['/a', '/b'])
  })
})

describe('HostProtocolFeed', () => {
  it('lists what others registered, without our entries and without what is no name', () => {
    const host = new RecordingHost()
    const feed = new HostProtocolFeed(host.registrar as never, serve)
    host.register('/b')
    host.register('/a')
    host.register('no-slash')
    host.register('/ours', serve)
    expect(feed.list.snapshot).toEqual([])
    feed.refresh()
    expect(feed.list.snapshot).toEqual(['/a', '/b'])
    const { version } = feed.list
    feed.refresh()
    expect(feed.list.version).toBe(version)
  })

  it('answers for a name that the list lacks, and then lists it', () => {
    const host = new RecordingHost()
    const feed = new HostProtocolFeed(host.registrar as never, serve)
    host.register('/late')
    host.register('no-slash')
    host.register('/ours', serve)
    expect(['/late', 'no-slash', '/ours', '/none'].map((name) => feed.offers(name))).toEqual([true, true, false, false])
    expect(feed.list.snapshot).toEqual(['/late'])
  })
})
