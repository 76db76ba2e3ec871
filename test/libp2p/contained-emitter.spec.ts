import { describe, expect, it } from 'vitest'
import { ContainedEmitter } from '../../src/libp2p/contained-emitter.ts'

interface Events {
  one: CustomEvent<{ value: number }>
  two: CustomEvent<{ value: number }>
}

class Emitter extends ContainedEmitter<Events> {
  readonly errors: Array<[type: string, cause: unknown]> = []

  emit (type: keyof Events, value: number): void {
    this.announce(type, { value })
  }

  protected override onListenerError (type: string, cause: unknown): void {
    this.errors.push([type, cause])
  }
}

function listening () {
  const emitter = new Emitter()
  const heard: string[] = []
  return { emitter, heard, hear: (name: string) => ({ detail }: CustomEvent<{ value: number }>) => { heard.push(`${name} ${detail.value}`) } }
}

describe('ContainedEmitter', () => {
  it('calls functions and objects, in the order in which they were added, with a frozen detail', () => {
    const { emitter, heard, hear } = listening()
    emitter.addEventListener('one', hear('function'))
    emitter.addEventListener('one', { handleEvent: hear('object') })
    emitter.addEventListener('one', ({ detail }) => { expect(Object.isFrozen(detail)).toBe(true) })
    emitter.addEventListener('one', null)
    emitter.emit('one', 1)
    expect(heard).toEqual(['function 1', 'object 1'])
  })

  it('takes a listener once per type, and removes it', () => {
    const { emitter, heard, hear } = listening()
    const listener = hear('it')
    emitter.addEventListener('one', listener)
    emitter.addEventListener('one', listener)
    emitter.addEventListener('two', listener)
    expect(emitter.listenerCount('one')).toBe(1)
    emitter.emit('one', 1)
    emitter.removeEventListener('one', listener)
    emitter.removeEventListener('one', hear('another'))
    emitter.removeEventListener('one')
    emitter.emit('one', 2)
    emitter.emit('two', 3)
    expect(heard).toEqual(['it 1', 'it 3'])
  })

  it('honours once and signal', () => {
    const { emitter, heard, hear } = listening()
    const abort = new AbortController()
    emitter.addEventListener('one', hear('once'), { once: true })
    emitter.addEventListener('one', hear('until'), { signal: abort.signal })
    emitter.emit('one', 1)
    emitter.emit('one', 2)
    abort.abort()
    emitter.emit('one', 3)
    expect(heard).toEqual(['once 1', 'until 1', 'until 2'])
    expect(emitter.listenerCount('one')).toBe(0)
  })

  it('contains what listeners throw, undefined included, and what async ones reject with (S4.15)', async () => {
    const { emitter, heard, hear } = listening()
    const [thrown, rejected] = [new Error('thrown'), new Error('rejected')]
    emitter.addEventListener('one', () => { throw thrown })
    emitter.addEventListener('one', () => { throw undefined }) // eslint-disable-line @typescript-eslint/only-throw-error -- the case
    emitter.addEventListener('one', async () => { throw rejected }) // eslint-disable-line @typescript-eslint/no-misused-promises -- the case
    emitter.addEventListener('one', hear('still'))
    emitter.emit('one', 1)
    await Promise.resolve()
    expect(heard).toEqual(['still 1'])
    expect(emitter.errors).toEqual([['one', thrown], ['one', undefined], ['one', rejected]])
  })
})
