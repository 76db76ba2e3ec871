/**
 * `select` and `handle` beside those of `@libp2p/multistream-select`, on the same inputs: where they do the same, and each
 * difference with its reason. The README's section on negotiation has the same table.
 */

import * as stock from '@libp2p/multistream-select'
import * as ours from 'libp2p-behaviours/negotiation'
import { describe, expect, it } from 'vitest'
import { fakeStreams } from '../support/fake-stream.ts'
import { observe } from '../support/observed-negotiation.ts'
import { hex } from '../support/wire.ts'
import type { Stream } from '@libp2p/interface'
import type { Observed } from '../support/observed-negotiation.ts'

type Role = 'select' | 'handle'

const negotiate = {
  stock: {
    select: async (stream: Stream, names: string[]) => stock.select(stream, names),
    handle: async (stream: Stream, names: string[]) => stock.handle(stream, names)
  },
  ours: {
    select: async (stream: Stream, names: string[]) => ours.select(stream, names),
    handle: async (stream: Stream, names: string[]) => ours.handle(stream, names)
  }
}

async function observeBoth (role: Role, names: string[], script: string): Promise<{ stock: Observed, ours: Observed }> {
  return {
    stock: await observe(stream => negotiate.stock[role](stream, names), script),
    ours: await observe(stream => negotiate.ours[role](stream, names), script)
  }
}

const SAME: ReadonlyArray<[role: Role, names: string[], script: string]> = [
  ['select', ['/a'], 'HDR A'],
  ['select', ['/a'], 'HDR | A'],
  ['select', ['/a'], '13 | 2f6d756c746973747265616d2f312e302e300a 03 | 2f610a'],
  ['select', ['/ünïcödé'], 'HDR 0e 2fc3bc6ec3af63c3b664c3a9 0a'],
  ['select', ['/a', '/b'], 'HDR NA | B'],
  ['select', ['/a', '/b'], 'HDR | NA | B pong'],
  ['select', ['/a'], 'HDR A pong'],
  ['select', ['/a'], 'HDR A | pong'],
  ['select', ['/a'], 'HDR A pong | FIN'],
  ['select', ['/a'], 'RESET'],
  ['select', ['/a'], 'HDR | RESET'],
  ['select', ['/a'], 'HDR A | RESET'],
  ['handle', ['/a'], 'HDR'],
  ['handle', ['/a'], 'HDR A'],
  ['handle', ['/a'], 'HDR | A'],
  ['handle', ['/b', '/a'], 'HDR C A'],
  ['handle', ['/a'], 'HDR | B | A ping'],
  ['handle', ['/a'], 'HDR A ping | FIN'],
  ['handle', ['/a'], 'HDR NA 01 0a A'],
  ['handle', ['/a'], 'HDR 03 2fff 0a'],
  ['handle', ['/a', '/b'], 'HDR LS A'],
  ['handle', [], 'HDR LS'],
  ['handle', ['/a'], 'HDR | RESET'],
  ['handle', ['/a'], 'HDR B | RESET'],
  ['handle', ['/b'], 'HDR A B data']
]

describe('select and handle do what those of @libp2p/multistream-select do', () => {
  it.each(SAME)('%s %j: %s', async (role, names, script) => {
    const seen = await observeBoth(role, names, script)
    expect(seen.ours).toEqual(seen.stock)
  })
})

interface Difference {
  readonly role: Role
  readonly names: string[]
  readonly script: string
  /** What they give and what they send. */
  readonly stock: readonly [result: string, sent: string]
  readonly ours: readonly [result: string, sent: string]
}

const DIFFERENT: Record<string, Difference[]> = {
  'S2.20: what is not multistream-select is a violation, not a missing protocol': [
    { role: 'select', names: ['/a'], script: 'A', stock: ['UnsupportedProtocolError', 'HDR A'], ours: ['InvalidMessageError', 'HDR A'] },
    { role: 'select', names: ['/a', '/b'], script: 'NA', stock: ['UnsupportedProtocolError', 'HDR A'], ours: ['InvalidMessageError', 'HDR A'] }
  ],
  'S2.9: a listener waits for the header and answers nothing else': [
    { role: 'handle', names: ['/a'], script: 'A', stock: ['/a', 'A'], ours: ['InvalidMessageError', ''] },
    { role: 'handle', names: ['/a'], script: 'LS', stock: ['pending', '05 A 0a'], ours: ['InvalidMessageError', ''] },
    { role: 'handle', names: ['/a'], script: '132f6d756c746973747265616d2f322e302e300a', stock: ['pending', 'NA'], ours: ['InvalidMessageError', ''] }
  ],
  'S2.13, S2.21: the header comes once': [
    { role: 'handle', names: ['/a'], script: 'HDR HDR A', stock: ['/a', 'HDR HDR A'], ours: ['InvalidMessageError', 'HDR'] },
    { role: 'select', names: ['/a'], script: 'HDR HDR A', stock: ['UnsupportedProtocolError', 'HDR A'], ours: ['InvalidMessageError', 'HDR A'] }
  ],
  'S2.21: an answer that is neither the proposal nor na is a violation, not a refusal': [
    { role: 'select', names: ['/a', '/c'], script: 'HDR B | C', stock: ['/c', 'HDR A C'], ours: ['InvalidMessageError', 'HDR A'] },
    { role: 'select', names: ['/a'], script: 'HDR LS', stock: ['UnsupportedProtocolError', 'HDR A'], ours: ['InvalidMessageError', 'HDR A'] }
  ],
  'S2.3: names are bytes: white space and broken UTF-8 are not mended': [
    { role: 'select', names: ['/a'], script: 'HDR 042f61200a', stock: ['/a', 'HDR A'], ours: ['InvalidMessageError', 'HDR A'] },
    { role: 'handle', names: ['/a'], script: 'HDR 042f61200a', stock: ['/a', 'HDR A'], ours: ['pending', 'HDR NA'] },
    { role: 'handle', names: ['/a '], script: 'HDR 042f61200a', stock: ['pending', 'HDR NA'], ours: ['/a ', 'HDR 042f61200a'] },
    { role: 'handle', names: ['/\ufffd'], script: 'HDR 03 2fff 0a', stock: ['/\ufffd', 'HDR 052fefbfbd0a'], ours: ['pending', 'HDR NA'] },
    { role: 'select', names: ['/a'], script: 'HDR 03 0a610a', stock: ['UnsupportedProtocolError', 'HDR A'], ours: ['InvalidMessageError', 'HDR A'] }
  ],
  'S2.2: a prefix has its shortest form, and two bytes at most; one error for all that is too long': [
    { role: 'select', names: ['/a'], script: 'HDR 8300 2f610a', stock: ['/a', 'HDR A'], ours: ['InvalidMessageError', 'HDR A'] },
    { role: 'handle', names: ['/a'], script: 'HDR 8300 2f610a', stock: ['/a', 'HDR A'], ours: ['InvalidMessageError', 'HDR'] },
    { role: 'select', names: ['/a'], script: 'HDR 8080', stock: ['pending', 'HDR A'], ours: ['InvalidDataLengthError', 'HDR A'] },
    { role: 'handle', names: ['/a'], script: 'HDR 808001', stock: ['InvalidDataLengthLengthError', 'HDR'], ours: ['InvalidDataLengthError', 'HDR'] }
  ],
  'S2.5: an end between two messages is a polite refusal': [
    { role: 'select', names: ['/a'], script: 'FIN', stock: ['UnexpectedEOFError', 'HDR A'], ours: ['UnsupportedProtocolError', 'HDR A'] },
    { role: 'select', names: ['/a'], script: 'HDR | FIN', stock: ['UnexpectedEOFError', 'HDR A'], ours: ['UnsupportedProtocolError', 'HDR A'] },
    { role: 'handle', names: ['/a'], script: 'HDR B | FIN', stock: ['UnexpectedEOFError', 'HDR NA'], ours: ['UnsupportedProtocolError', 'HDR NA'] }
  ],
  'S2.16: what is no proposal after a refusal is early data of a dialer that did not wait': [
    { role: 'handle', names: ['/a'], script: 'HDR B 022f61', stock: ['InvalidMessageError', 'HDR NA'], ours: ['UnsupportedProtocolError', 'HDR NA'] },
    { role: 'handle', names: ['/a'], script: 'HDR B 8108', stock: ['InvalidDataLengthError', 'HDR NA'], ours: ['UnsupportedProtocolError', 'HDR NA'] }
  ],
  'S2.14: one list in a negotiation, of distinct valid names': [
    { role: 'handle', names: ['/a'], script: 'HDR LS LS A', stock: ['/a', 'HDR 05 A 0a 05 A 0a A'], ours: ['/a', 'HDR 05 A 0a NA A'] },
    { role: 'handle', names: ['/a', 'a', '/a'], script: 'HDR LS', stock: ['pending', 'HDR 0c A 02610a A 0a'], ours: ['pending', 'HDR 05 A 0a'] }
  ],
  'S2.15: a listener answers 64 times': [
    { role: 'handle', names: ['/a'], script: `HDR ${'B '.repeat(65)} A`, stock: ['/a', `HDR ${'NA '.repeat(65)} A`], ours: ['UnsupportedProtocolError', `HDR ${'NA '.repeat(64)}`] }
  ],
  'S2.18, S3.1: only valid names are proposed or accepted': [
    { role: 'select', names: [], script: '', stock: ['Error', ''], ours: ['TypeError', ''] },
    { role: 'select', names: ['a'], script: '', stock: ['pending', 'HDR 02610a'], ours: ['TypeError', ''] },
    { role: 'select', names: Array<string>(65).fill('/a'), script: '', stock: ['pending', 'HDR A'], ours: ['RangeError', ''] },
    { role: 'handle', names: ['a'], script: 'HDR 02610a', stock: ['a', 'HDR 02610a'], ours: ['pending', 'HDR NA'] },
    { role: 'select', names: [''], script: '', stock: ['pending', 'HDR 010a'], ours: ['TypeError', ''] },
    { role: 'select', names: ['/a\nb'], script: '', stock: ['pending', 'HDR 052f610a620a'], ours: ['TypeError', ''] },
    { role: 'handle', names: [''], script: 'HDR 010a', stock: ['', 'HDR 010a'], ours: ['pending', 'HDR NA'] },
    { role: 'handle', names: ['/a\nb'], script: 'HDR 052f610a620a', stock: ['/a\nb', 'HDR 052f610a620a'], ours: ['InvalidMessageError', 'HDR'] }
  ]
}

describe.each(Object.entries(DIFFERENT))('%s', (_, differences) => {
  it.each(differences)('$role $names: $script', async ({ role, names, script, ...expected }) => {
    const seen = await observeBoth(role, names, script)
    expect([seen.stock.result, seen.stock.sent]).toEqual([expected.stock[0], hex(expected.stock[1])])
    expect([seen.ours.result, seen.ours.sent]).toEqual([expected.ours[0], hex(expected.ours[1])])
  })
})

describe('S2.32: a stream whose negotiation failed is reset, where that package leaves it open', () => {
  it.each([
    ['select', 'HDR NA', 'UnsupportedProtocolError'],
    ['select', 'HDR 022f61', 'InvalidMessageError'],
    ['select', 'HDR 8108', 'InvalidDataLengthError'],
    ['select', 'HDR 03 | FIN', 'UnexpectedEOFError'],
    ['handle', 'HDR 022f61', 'InvalidMessageError'],
    ['handle', 'HDR 8108', 'InvalidDataLengthError'],
    ['handle', 'HDR 03 | FIN', 'UnexpectedEOFError']
  ] as const)('%s, %s: %s', async (role, script, result) => {
    const seen = await observeBoth(role, ['/a'], script)
    expect(seen.stock).toMatchObject({ result, status: 'open' })
    expect(seen.ours).toEqual({ ...seen.stock, status: 'aborted' })
  })
})

describe('S2.39: a signal', () => {
  const reason = new Error('enough')
  const aborted = { signal: AbortSignal.abort(reason) }

  it('that is aborted lets no byte out', async () => {
    const seen = {
      stock: await observe(async stream => stock.select(stream, '/a', aborted), ''),
      ours: await observe(async stream => ours.select(stream, '/a', aborted), '')
    }
    expect([seen.stock.sent, seen.ours.sent]).toEqual([hex('HDR A'), ''])
    expect([seen.stock.status, seen.ours.status]).toEqual(['open', 'aborted'])
  })

  it('gives an error whose name tells what it is, with the reason behind it', async () => {
    const [stream] = fakeStreams(queueMicrotask)
    await expect(stock.handle(stream, '/a', aborted)).rejects.toBe(reason)
    await expect(ours.handle(stream, '/a', aborted)).rejects.toMatchObject({ name: 'AbortError', cause: { cause: reason } })
  })
})

describe('S2.1: the wire format', () => {
  it('is no option', async () => {
    const options = { lengthEncoder: () => Uint8Array.of(7), maxLengthLength: 1 }
    const sent = {
      stock: await observe(async stream => stock.select(stream, '/a', { ...options }), ''),
      ours: await observe(async stream => ours.select(stream, '/a', { ...options }), 'HDR A')
    }
    expect(sent.stock.sent).not.toBe(hex('HDR A'))
    expect(sent.ours).toMatchObject({ result: '/a', sent: hex('HDR A') })
  })
})
