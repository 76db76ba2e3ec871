/**
 * multistream-select 1.0.0 as slow and plain as it can be written, over the whole input at once: what the machines are
 * compared with. It shares no code with them.
 */

/** How the input went on after its last byte. */
export type Ending = 'open' | 'FIN' | 'RESET'

/** What a role does with an input; bytes as arrays of numbers. */
export interface NaiveResult {
  readonly outcome: 'pending' | 'ok' | 'failed' | 'invalid' | 'too-long' | 'eof' | 'reset'
  readonly protocol?: string
  readonly rest?: readonly number[]
  readonly out: readonly number[]
}

type Parsed =
  | { readonly type: 'message', readonly name: readonly number[], readonly rest: readonly number[] }
  | { readonly type: 'incomplete' | 'invalid' | 'too-long' }

const HEADER_NAME = '/multistream/1.0.0'
const ENCODER = new TextEncoder()

/** `name` as a frame, by the definition of S2.1. */
export function naiveFrame (name: string): number[] {
  const body = [...ENCODER.encode(name), 0x0a]
  const prefix = body.length < 128 ? [body.length] : [body.length % 128 + 128, Math.floor(body.length / 128)]
  return [...prefix, ...body]
}

/** The first message of `bytes`, by S2.2 and S2.3. */
export function naiveParse (bytes: readonly number[], maxFrameLength: number): Parsed {
  const [first, second] = bytes
  if (first === undefined) {
    return { type: 'incomplete' }
  }
  if (first === 0) {
    return { type: 'invalid' }
  }
  if (first >= 128) {
    if (second === undefined) {
      return { type: 'incomplete' }
    }
    if (second >= 128) {
      return { type: 'too-long' }
    }
    if (second === 0) {
      return { type: 'invalid' }
    }
  }
  const length = first < 128 ? first : first - 128 + 128 * (second ?? 0)
  if (length > maxFrameLength) {
    return { type: 'too-long' }
  }
  const body = bytes.slice(first < 128 ? 1 : 2)
  if (body.length < length) {
    return { type: 'incomplete' }
  }
  const name = body.slice(0, length - 1)
  return body[length - 1] !== 0x0a || name.includes(0x0a)
    ? { type: 'invalid' }
    : { type: 'message', name, rest: body.slice(length) }
}

/** The answer to `ls` of S2.14; undefined when it would be too long. */
export function naiveList (names: readonly string[]): number[] | undefined {
  const body = [...[...new Set(names)].flatMap(naiveFrame), 0x0a]
  const prefix = body.length < 128 ? [body.length] : [body.length % 128 + 128, Math.floor(body.length / 128)]
  return body.length > 16_383 ? undefined : [...prefix, ...body]
}

/** The listener of S2.9 to S2.17. */
export function naiveListen (
  names: readonly string[], input: readonly number[], ending: Ending, maxFrameLength = 1024, maxRounds = 64, ls = true
): NaiveResult {
  let bytes = input
  let wasRefused = false
  let mayList = ls
  const out: number[] = []
  for (let answers = -1; ; answers++) {
    const parsed = naiveParse(bytes, maxFrameLength)
    if (parsed.type === 'incomplete') {
      return { outcome: interrupted(bytes, ending, wasRefused), out }
    }
    if (parsed.type !== 'message') {
      return { outcome: wasRefused ? 'failed' : parsed.type, out }
    }
    const isHeader = isName(parsed.name, HEADER_NAME)
    if (answers === -1 && !isHeader) {
      return { outcome: 'invalid', out }
    }
    if (answers >= 0 && isHeader) {
      return { outcome: wasRefused ? 'failed' : 'invalid', out }
    }
    bytes = parsed.rest
    if (isHeader) {
      out.push(...naiveFrame(HEADER_NAME))
      continue
    }
    if (answers >= maxRounds) {
      return { outcome: 'failed', out }
    }
    if (isName(parsed.name, 'ls')) {
      const list = mayList ? naiveList(names) : undefined
      mayList = false
      wasRefused = list === undefined
      out.push(...list ?? naiveFrame('na'))
      continue
    }
    const protocol = names.find(name => isName(parsed.name, name))
    out.push(...naiveFrame(protocol ?? 'na'))
    wasRefused = true
    if (protocol !== undefined) {
      return { outcome: 'ok', protocol, rest: bytes, out }
    }
  }
}

/** The dialer of S2.18 to S2.22, over names that are valid. */
export function naiveDial (names: readonly string[], input: readonly number[], ending: Ending, maxFrameLength = 1024): NaiveResult {
  const out = [...naiveFrame(HEADER_NAME)]
  const header = naiveParse(input, maxFrameLength)
  let bytes = header.type === 'message' && isName(header.name, HEADER_NAME) ? header.rest : undefined
  for (const protocol of names) {
    out.push(...naiveFrame(protocol))
    if (bytes === undefined) {
      return { outcome: failureOf(header, input, ending), out }
    }
    const answer = naiveParse(bytes, maxFrameLength)
    if (answer.type === 'message' && isName(answer.name, protocol)) {
      return { outcome: 'ok', protocol, rest: answer.rest, out }
    }
    if (answer.type !== 'message' || !isName(answer.name, 'na')) {
      return { outcome: failureOf(answer, bytes, ending), out }
    }
    bytes = answer.rest
  }
  return { outcome: 'failed', out }
}

function failureOf (parsed: Parsed, bytes: readonly number[], ending: Ending): NaiveResult['outcome'] {
  switch (parsed.type) {
    case 'incomplete': return interrupted(bytes, ending, false)
    case 'message': return 'invalid'
    case 'invalid':
    case 'too-long': return parsed.type
  }
}

function interrupted (partial: readonly number[], ending: Ending, wasRefused: boolean): NaiveResult['outcome'] {
  switch (ending) {
    case 'open': return 'pending'
    case 'RESET': return 'reset'
    case 'FIN': return partial.length === 0 || wasRefused ? 'failed' : 'eof'
  }
}

function isName (bytes: readonly number[], name: string): boolean {
  const expected = ENCODER.encode(name)
  return bytes.length === expected.length && bytes.every((byte, index) => byte === expected[index])
}
