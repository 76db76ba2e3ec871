import { describe, expect, it } from 'vitest'
import { VirtualPort } from '../../src/testing/virtual-stream.ts'
import { hex, toHex, wire } from '../support/wire.ts'

/** A port between a link and a connection that write down what they are told; drains are over when the test says so. */
function port () {
  const told: string[] = []
  const waiting: Array<() => void> = []
  const made = new VirtualPort({
    send: bytes => { told.push(`send ${toHex(bytes)}`) },
    end: () => { told.push('send FIN') },
    reset: () => { told.push('send RESET') }
  }, {
    input: deliver => { waiting.push(deliver) },
    data: (_port, bytes) => { told.push(`data ${toHex(bytes)}`) },
    ended: () => { told.push('end') },
    reset: () => { told.push('reset') },
    closed: () => { told.push('closed') }
  })
  /** Delivers what waits, one drain each. */
  const rest = (): string[] => {
    for (let deliver = waiting.shift(); deliver !== undefined; deliver = waiting.shift()) {
      deliver()
    }
    return told.splice(0)
  }
  return { port: made, told, rest }
}

describe('a port that is asked for less than came (S2.34)', () => {
  it('gives the rest in another turn, in front of all else', () => {
    const { port: made, rest } = port()
    made.start()
    made.arrive(wire('A'))
    expect(rest()).toEqual([`data ${hex('A')}`])
    made.readLater(wire('A'))
    made.arrive(wire('B'))
    made.arriveEnd()
    made.arriveReset(new Error('gone'))
    expect(rest()).toEqual([`data ${hex('A')}`, `data ${hex('B')}`, 'end', 'reset'])
  })
})

describe('a port that waits for a slot', () => {
  it('tells a reset at once, and bytes and end when it has one', () => {
    const { port: made, rest } = port()
    made.arrive(wire('A'))
    made.arriveEnd()
    made.arriveReset(new Error('gone'))
    expect(rest()).toEqual(['reset'])
    made.start()
    expect(rest()).toEqual([`data ${hex('A')}`, 'end'])
  })
})

describe('a port of a lazy stream', () => {
  function assumed () {
    const all = port()
    all.port.start()
    all.port.assume('/a', wire('HDR A'))
    return all
  }

  it('shows no end that comes in place of the answer (S2.26)', () => {
    const { port: made, rest } = assumed()
    made.arriveEnd()
    expect(rest()).toEqual([`send ${hex('HDR A')}`, 'end'])
    expect(made.stream.isEnded).toBe(false)
  })

  it('never sends the opening after a reset', () => {
    for (const reset of [(made: VirtualPort) => { made.reset(new Error('no')) }, (made: VirtualPort) => { made.stream.reset(new Error('no')) }]) {
      const { port: made, rest, told } = assumed()
      reset(made)
      expect(rest().filter(line => line.startsWith('send'))).toEqual(['send RESET'])
      expect(() => { made.stream.send(wire('ping')) }).toThrow('no')
      expect(told).toEqual([])
    }
  })
})
