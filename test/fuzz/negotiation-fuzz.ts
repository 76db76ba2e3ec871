/** Machines against the naive twin and against each other, and what must hold for any input (S10.1 to S10.5). */

import { PENDING } from '../../src/core/poll.ts'
import { DialerNegotiation, ListenerNegotiation } from '../../src/negotiation/index.ts'
import { listing } from '../support/listing.ts'
import { naiveDial, naiveFrame, naiveList, naiveListen } from '../support/naive-multistream.ts'
import { Draw, NAMES, inputOf } from './negotiation-inputs.ts'
import type { NaiveResult } from '../support/naive-multistream.ts'
import type { Machine } from '../support/wire.ts'
import type { FuzzInput } from './negotiation-inputs.ts'

const HEADER_BYTES = 20
const REFUSAL_BYTES = 4
const LONGEST_FRAME = Math.max(...NAMES.map(name => naiveFrame(name).length))
const LONGEST_LIST = naiveList(NAMES)?.length ?? 0
/** What an application writes that does not wait; it looks like a proposal. */
const EARLY = Uint8Array.of(3, 0x2f, 0x61, 0x0a)
/** What comes when nobody listens any more. */
const LATE = Uint8Array.from([...naiveFrame('/multistream/1.0.0'), ...naiveFrame('/a')])

/**
 * Checks what the seed gives.
 *
 * @throws Error for the first thing that is wrong, with the input
 */
export function fuzz (seed: number): void {
  if (seed % 16 === 0) {
    explaining(`a pair of seed ${seed}`, () => { checkPair(new Draw(seed)) })
    return
  }
  const input = inputOf(seed)
  explaining(input, () => {
    if (input.role === 'listener') {
      checkListener(input)
    } else if (input.names.length > 0) {
      checkDialer(input)
    }
  })
}

function explaining (input: string | FuzzInput, check: () => void): void {
  try {
    check()
  } catch (cause) {
    const text = typeof input === 'string' ? input : JSON.stringify({ ...input, bytes: hexOf(input.bytes) })
    throw new Error(`${cause instanceof Error ? cause.message : String(cause)}\n${text}`, { cause })
  }
}

function checkListener (input: FuzzInput): void {
  const { names, bytes, ending, limits: { maxFrameLength, maxRounds, ls } } = input
  const seen = drive(input, new ListenerNegotiation(listing(...names), input.limits), () => {})
  checkSeen(seen, naiveListen(names, bytes, ending, maxFrameLength, maxRounds, ls))
  const most = HEADER_BYTES + maxRounds * REFUSAL_BYTES + LONGEST_LIST + LONGEST_FRAME
  check(seen.out.length <= most, `sent ${seen.out.length} bytes, at most ${most} are due`)
}

function checkDialer (input: FuzzInput): void {
  const { names, bytes, ending, limits: { maxFrameLength } } = input
  const expected = naiveDial(names, bytes, ending, maxFrameLength)
  const dialer = new DialerNegotiation(names, input.limits, { lazy: input.lazy })
  if (dialer.assumed === undefined) {
    checkSeen(drive(input, dialer, () => {}), expected)
    return
  }
  const opening = [...naiveFrame('/multistream/1.0.0'), ...naiveFrame(dialer.assumed)]
  let writes = 0
  const seen = drive(input, dialer, (chunks) => {
    if (chunks === input.writeAfter) {
      writes++
      const outcome = dialer.pollOutcome()
      const mayWrite = outcome === PENDING || outcome.type === 'ok'
      checkBytes('wrote', dialer.write(EARLY) ?? [], mayWrite ? [...opening, ...EARLY] : [])
    }
  })
  checkSeen(seen, { ...expected, out: [] })
  dialer.flush()
  const mayOpen = writes === 0 && ending !== 'RESET' && (expected.outcome === 'pending' || expected.outcome === 'ok')
  checkBytes('flushed', dialer.takeOutput() ?? [], mayOpen ? opening : [])
}

/** Feeds the input, in memory that is used again at once, and checks what must hold at every step. */
function drive (input: FuzzInput, machine: Machine, afterChunk: (chunks: number) => void): NaiveResult {
  const { bytes, cuts, ending, keptInput, limits: { maxFramesPerTurn } } = input
  const out: number[] = []
  let rest: number[] | undefined
  const drain = (): void => {
    const output = machine.takeOutput() ?? []
    check(framesIn(output) <= maxFramesPerTurn + 1, `answered ${framesIn(output)} frames in a turn`)
    out.push(...output)
    const outcome = machine.pollOutcome()
    if (rest === undefined && outcome !== PENDING && outcome.type === 'ok') {
      rest = [...outcome.rest ?? []]
    }
  }
  const feed = (chunk: Uint8Array): void => {
    machine.handleData(chunk)
    drain()
    chunk.fill(0xff)
  }
  const readOn = (): void => {
    for (let turns = 0; machine.wantsTurn; turns++) {
      check(turns <= bytes.length, 'made no progress')
      if (keptInput === 'fed-again') {
        feed(machine.takeKept() ?? new Uint8Array(0))
      } else {
        machine.handleTurn()
        drain()
      }
    }
  }
  drain()
  const places = [...cuts, bytes.length]
  for (const [index, place] of places.entries()) {
    const chunk = bytes.slice(places[index - 1] ?? 0, place)
    if (rest === undefined) {
      feed(Uint8Array.from(chunk))
      if (keptInput !== 'late') {
        readOn()
      }
    } else {
      rest.push(...chunk)
    }
    afterChunk(index)
  }
  if (ending === 'FIN') {
    machine.handleFin()
  } else if (ending === 'RESET') {
    const before = machine.takeOutput()
    check(before === undefined, 'had output that was not drained')
    readOn()
    machine.handleReset()
  }
  drain()
  readOn()
  const outcome = machine.pollOutcome()
  if (outcome === PENDING) {
    return { outcome: 'pending', out }
  }
  machine.handleData(LATE.slice())
  machine.handleFin()
  machine.handleTurn()
  check(machine.takeOutput() === undefined && machine.pollOutcome() === outcome && !machine.wantsTurn, 'went on after its outcome')
  return outcome.type === 'ok' ? { outcome: 'ok', protocol: outcome.protocol, rest: rest ?? [], out } : { outcome: outcome.type, out }
}

/** Both ends over a link that delivers any part of what is under way at any time. */
function checkPair (draw: Draw): void {
  const dialed = draw.list(1, 8, () => draw.one(NAMES))
  const listed = draw.list(0, 4, () => draw.one(NAMES))
  const limits = { maxFrameLength: 1024, maxRounds: 8, maxFramesPerTurn: draw.one([Infinity, 1, 2]) }
  const data = [draw.noise(20), draw.noise(20)] as const
  const dialer = new DialerNegotiation(dialed, limits, { lazy: draw.chance(0.3) })
  const listener = new ListenerNegotiation(listing(...listed), limits)
  const ends = [new End(dialer, data[0]), new End(listener, data[1])] as const
  if (dialer.assumed !== undefined) {
    ends[0].receiveFrom(dialer.write(new Uint8Array(0)))
  }
  for (let idle = 0; idle < 40; idle++) {
    const [from, to] = draw.chance(0.5) ? ends : [ends[1], ends[0]]
    if (from.sent.length > 0) {
      idle = 0
      to.receive(from.sent.splice(0, 1 + draw.below(draw.one([3, 400]))))
    }
  }
  const agreed = dialed.find(name => listed.includes(name))
  const expected = agreed === undefined ? 'failed' : `ok ${agreed}`
  check(ends[0].outcome === expected, `the dialer: ${ends[0].outcome}, expected ${expected}`)
  listener.handleFin()
  check(ends[1].outcome === expected, `the listener: ${ends[1].outcome}, expected ${expected}`)
  if (agreed !== undefined) {
    checkBytes('the listener received', ends[1].received, data[0])
    checkBytes('the dialer received', ends[0].received, data[1])
  }
}

/** One end of a pair: it negotiates, then sends its data. */
class End {
  readonly sent: number[] = []
  readonly received: number[] = []
  readonly #machine: Machine
  #data: readonly number[] | undefined

  constructor (machine: Machine, data: readonly number[]) {
    this.#machine = machine
    this.#data = data
    this.#drain()
  }

  get outcome (): string {
    const outcome = this.#machine.pollOutcome()
    return outcome === PENDING ? 'pending' : outcome.type === 'ok' ? `ok ${outcome.protocol}` : outcome.type
  }

  receiveFrom (opening: Uint8Array | undefined): void {
    this.sent.push(...opening ?? [])
  }

  receive (bytes: readonly number[]): void {
    if (this.#machine.pollOutcome() !== PENDING) {
      this.received.push(...bytes)
      return
    }
    this.#machine.handleData(Uint8Array.from(bytes))
    this.#drain()
    while (this.#machine.wantsTurn) {
      this.#machine.handleTurn()
      this.#drain()
    }
  }

  #drain (): void {
    this.sent.push(...this.#machine.takeOutput() ?? [])
    const outcome = this.#machine.pollOutcome()
    if (outcome !== PENDING && outcome.type === 'ok' && this.#data !== undefined) {
      this.received.push(...outcome.rest ?? [])
      this.sent.push(...this.#data)
      this.#data = undefined
    }
  }
}

function checkSeen (seen: NaiveResult, expected: NaiveResult): void {
  check(seen.outcome === expected.outcome && seen.protocol === expected.protocol,
    `gave ${seen.outcome} ${seen.protocol ?? ''}, expected ${expected.outcome} ${expected.protocol ?? ''}`)
  checkBytes('sent', seen.out, expected.out)
  checkBytes('left over', seen.rest ?? [], expected.rest ?? [])
}

function checkBytes (what: string, seen: ArrayLike<number>, expected: readonly number[]): void {
  if (seen.length !== expected.length || !expected.every((byte, index) => byte === seen[index])) {
    throw new Error(`${what} ${hexOf(seen)}, expected ${hexOf(expected)}`)
  }
}

function check (holds: boolean, otherwise: string): void {
  if (!holds) {
    throw new Error(otherwise)
  }
}

function framesIn (output: ArrayLike<number>): number {
  let frames = 0
  for (let at = 0; at < output.length; frames++) {
    const first = output[at] ?? 0
    at += first < 0x80 ? 1 + first : 2 + (first & 0x7f) + ((output[at + 1] ?? 0) << 7)
  }
  return frames
}

function hexOf (bytes: ArrayLike<number>): string {
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}
