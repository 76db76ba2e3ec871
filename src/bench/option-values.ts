/** What the values of options are made of. All of them throw a RangeError with one line for the user. */

import type { FailCondition } from './fail-on.ts'
import type { Condition } from './plan.ts'

/** A number of at least `least`. */
export function parseNumber (option: string, text: string, least: number, isWhole: boolean = false): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < least || (isWhole && !Number.isInteger(value))) {
    throw new RangeError(`${option} must be a ${isWhole ? 'whole number' : 'number'} of at least ${least}, received ${JSON.stringify(text)}`)
  }
  return value
}

/** Percents as a fraction. */
export function parsePercent (option: string, text: string): number {
  return parseNumber(option, text, 0) / 100
}

/** Percents as a fraction, or `auto`. */
export function parseNoise (text: string): number | 'auto' {
  return text === 'auto' ? text : parsePercent('--noise', text)
}

/** An expression for ids. */
export function parseFilter (text: string): RegExp {
  try {
    return new RegExp(text, 'u')
  } catch {
    throw new RangeError(`--filter must be a regular expression, received ${JSON.stringify(text)}`)
  }
}

/** `AXIS=A..B` or `AXIS=v,w`. */
export function parseConditions (text: string): Condition {
  const separator = text.indexOf('=')
  const axis = text.slice(0, separator)
  const value = text.slice(separator + 1)
  if (separator < 1 || value === '') {
    throw new RangeError(`--where must be AXIS=A..B or AXIS=v,w, received ${JSON.stringify(text)}`)
  }
  const range = /^(.*)\.\.(.*)$/.exec(value)
  return range === null
    ? { axis, values: value.split(',') }
    : { axis, from: bound(range[1], -Infinity), to: bound(range[2], Infinity) }
}

function bound (text: string = '', absent: number): number {
  return text === '' ? absent : parseNumber('--where', text, -Number.MAX_VALUE)
}

/** A list of `regressed`, `regressed:PCT`, `inconclusive` and `claims`. */
export function parseFailOn (text: string): FailCondition[] {
  return text.split(',').map((part): FailCondition => {
    const [type = '', percent] = part.split(':')
    if (type === 'regressed') {
      return { type, by: percent === undefined ? 0 : parsePercent('--fail-on regressed', percent) }
    }
    return { type: requireOneOf('--fail-on', part, ['inconclusive', 'claims']) }
  })
}

/** One of some words. */
export function requireOneOf<Word extends string> (option: string, text: string, words: readonly Word[]): Word {
  const word = words.find(candidate => candidate === text)
  if (word === undefined) {
    throw new RangeError(`${option} must be ${words.join(' or ')}, received ${JSON.stringify(text)}`)
  }
  return word
}
