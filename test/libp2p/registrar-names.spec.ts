import { describe, expect, it } from 'vitest'
import { RegistrarNames } from '../../src/libp2p/registrar-names.ts'
import { RecordingHost } from '../support/host-parts.ts'
import type { StreamHandler } from '@libp2p/interface'

const ours: StreamHandler = () => {}
const theirs: StreamHandler = () => {}

/** A registrar that counts its questions, and names over it. */
function watched () {
  const host = new RecordingHost()
  const { getHandler, getProtocols } = host.registrar
  const asked = { handlers: 0, lists: 0 }
  host.registrar.getHandler = (protocol) => {
    asked.handlers++
    return getHandler(protocol)
  }
  host.registrar.getProtocols = () => {
    asked.lists++
    return getProtocols()
  }
  const { handle, unhandle } = host.registrar
  const names = new RegistrarNames(host.registrar as never, handler => handler === ours)
  const takeAsked = () => {
    const taken = { ...asked }
    asked.handlers = asked.lists = 0
    return taken
  }
  return { host, names, takeAsked, originals: { handle, unhandle } }
}

describe('RegistrarNames (HOST 9)', () => {
  it('asks the registrar once for any number of names that nobody has', () => {
    const { host, names, takeAsked } = watched()
    host.register('/theirs', theirs)
    const answers = Array.from({ length: 1000 }, (_, index) => names.has(`/none/${index}`))
    expect(answers.filter(Boolean)).toEqual([])
    expect(takeAsked()).toEqual({ handlers: 1, lists: 1 })
  })

  it('knows a name in the moment in which it is registered, and no longer when it has left', async () => {
    const { host, names } = watched()
    expect(names.has('/late')).toBe(false)
    const registered = host.registrar.handle('/late', theirs)
    expect(names.has('/late')).toBe(true)
    await registered
    expect(names.has('/late')).toBe(true)
    const left = host.registrar.unhandle(['/late'])
    expect(names.has('/late')).toBe(false)
    await left
    expect(names.has('/late')).toBe(false)
  })

  it('tells ours by their handler, also when one is taken over by force or given back', async () => {
    const { host, names } = watched()
    await host.registrar.handle('/shared', ours)
    expect(names.has('/shared')).toBe(false)
    await host.registrar.handle('/shared', theirs)
    expect(names.has('/shared')).toBe(true)
    await host.registrar.handle('/shared', ours)
    expect(names.has('/shared')).toBe(false)
  })

  it('gives all of them as the same set until something is registered', async () => {
    const { host, names } = watched()
    host.register('/b', theirs)
    host.register('/a', theirs)
    host.register('/ours', ours)
    await Promise.resolve()
    const { all } = names
    expect([...all]).toEqual(['/a', '/b'])
    expect(names.all).toBe(all)
    await host.registrar.unhandle('/none')
    expect(names.all).not.toBe(all)
    expect([...names.all]).toEqual(['/a', '/b'])
  })

  it('hears of a registrar that takes the name only when its promise settles', async () => {
    const host = new RecordingHost()
    const take = host.registrar.handle
    host.registrar.handle = async (protocol, handler) => {
      await Promise.resolve()
      await take(protocol, handler)
    }
    const names = new RegistrarNames(host.registrar as never, handler => handler === ours)
    const registered = host.registrar.handle('/slow', theirs)
    expect(names.has('/slow')).toBe(false)
    await registered
    expect(names.has('/slow')).toBe(true)
  })

  it('passes on what the registrar gives back or refuses with, and whom it is called on', async () => {
    const calls: unknown[] = []
    const registrar = {
      getProtocols: () => [],
      getHandler: () => { throw new Error('none') },
      async handle (...args: unknown[]) { calls.push(this, args); return 'given' },
      unhandle: (): Promise<void> => { throw new Error('refused') }
    }
    const names = new RegistrarNames(registrar as never, () => false)
    await expect(registrar.handle('/a', theirs, { force: true })).resolves.toBe('given')
    expect(calls).toEqual([registrar, ['/a', theirs, { force: true }]])
    await expect(registrar.unhandle()).rejects.toThrow('refused')
    expect(names.has('/a')).toBe(false)
  })

  it('reads the registrar at every question once somebody has taken the watch off', () => {
    const { host, names, takeAsked, originals } = watched()
    expect(names.has('/late')).toBe(false)
    takeAsked()
    Object.assign(host.registrar, originals)
    host.register('/late', theirs)
    expect(names.has('/late')).toBe(true)
    expect(names.has('/none')).toBe(false)
    expect(takeAsked()).toEqual({ handlers: 2, lists: 0 })
    expect([...names.all]).toEqual(['/late'])
    host.unregister('/late')
    expect([...names.all]).toEqual([])
  })

  it('reads the registrar at every question where the watch cannot be put', () => {
    const { registrar, handlers } = new RecordingHost()
    const names = new RegistrarNames(Object.freeze(registrar) as never, handler => handler === ours)
    expect(names.has('/late')).toBe(false)
    handlers.set('/late', theirs)
    expect(names.has('/late')).toBe(true)
    expect([...names.all]).toEqual(['/late'])
  })
})
