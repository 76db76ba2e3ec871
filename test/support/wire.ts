/**
 * The notation of CASES.md as bytes: words and hex, `|` between chunks, `FIN` or `RESET` at the end.
 */

import { PENDING } from '../../src/core/poll.ts'
import type { DialerNegotiation, ListenerNegotiation, NegotiationOutcome } from '../../src/negotiation/index.ts'

const WORDS = new Map([
  ['HDR', '132f6d756c746973747265616d2f312e302e300a'],
  ['NA', '036e610a'],
  ['LS', '036c730a'],
  ['A', '032f610a'],
  ['B', '032f620a'],
  ['C', '032f630a'],
  ['E', '0c2f6563686f2f312e302e300a'],
  ['ping', '70696e67'],
  ['pong', '706f6e67'],
  ['data', '64617461']
])

/** A machine of either role. */
export type Machine = DialerNegotiation | ListenerNegotiation

/** What a machine did with a script. */
export interface Run {
  /** All that it sent, as hex. */
  readonly out: string
  /** What it sent at each input, as hex, from what it sent before the first; inputs that brought nothing are left out. */
  readonly writes: readonly string[]
  /** Undefined: none yet. */
  readonly outcome: NegotiationOutcome<unknown> | undefined
}

/** The bytes of a text such as `'HDR 8001 A'`. */
export function wire (text: string): Uint8Array {
  return fromHex(text.split(/\s+/).map(word => WORDS.get(word) ?? word).join(''))
}

/** The same as hex, to compare with a {@link Run}. */
export function hex (text: string): string {
  return toHex(wire(text))
}

export function toHex (bytes: Uint8Array): string {
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}

export function fromHex (digits: string): Uint8Array {
  if (!/^([0-9a-f]{2})*$/.test(digits)) {
    throw new SyntaxError(`not hex: ${digits}`)
  }
  return Uint8Array.from(digits.match(/../g) ?? [], pair => Number.parseInt(pair, 16))
}

/** Feeds `script`, such as `'HDR | A | FIN'`, and drains after each input. `(empty)` is a chunk without bytes. */
export function run (machine: Machine, script: string): Run {
  return runInputs(machine, script.split('|').flatMap(inputsOf))
}

/** One input of a machine. */
export type Input = Uint8Array | 'FIN' | 'RESET'

/** The same for inputs that are bytes already. */
export function runInputs (machine: Machine, inputs: Iterable<Input>): Run {
  const writes: string[] = []
  const drain = (): void => {
    const output = machine.takeOutput()
    if (output !== undefined) {
      writes.push(toHex(output))
    }
  }
  drain()
  for (const input of inputs) {
    feed(machine, input)
    drain()
  }
  const outcome = machine.pollOutcome()
  return { out: writes.join(''), writes, outcome: outcome === PENDING ? undefined : outcome }
}

/** The outcome as CASES.md writes it: `OK(/a, rest=70696e67)`, `FAILED`, `TOO_LONG`; `PENDING` for none. */
export function outcomeText (outcome: NegotiationOutcome<unknown> | undefined): string {
  if (outcome === undefined) {
    return 'PENDING'
  }
  return outcome.type === 'ok'
    ? `OK(${outcome.protocol}, rest=${toHex(outcome.rest ?? new Uint8Array(0))})`
    : outcome.type.toUpperCase().replace('-', '_')
}

function feed (machine: Machine, input: Input): void {
  if (input === 'FIN') {
    machine.handleFin()
  } else if (input === 'RESET') {
    machine.handleReset()
  } else {
    machine.handleData(input)
  }
}

/** A chunk may be followed by `FIN` in the same tick, as in `'A FIN'`. */
function inputsOf (part: string): Input[] {
  const text = part.trim()
  if (text === 'FIN' || text === 'RESET') {
    return [text]
  }
  if (text.endsWith(' FIN')) {
    return [wire(text.slice(0, -' FIN'.length)), 'FIN']
  }
  return [text === '(empty)' ? new Uint8Array(0) : wire(text)]
}
