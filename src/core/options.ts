/**
 * Options with defaults and limits, parsed once into a complete, frozen config (S9.2). The caller's object is only read.
 */

import { unknownName } from './known-names.ts'
import { show } from './printable.ts'

/** What one option may be. */
export type OptionSpec =
  | { readonly kind: 'count', readonly initial: number, readonly min: number, readonly max: number, readonly mayBeInfinite: boolean }
  | { readonly kind: 'duration', readonly initial: number }
  | { readonly kind: 'flag', readonly initial: boolean }

/** Every option of a config by name. */
export type OptionTable<Config> = { readonly [Name in keyof Config]-?: OptionSpec }

/** A whole number from `min` to `max`; `Infinity` is allowed when `max` is. */
export function count (initial: number, min: number = 0, max: number = Infinity): OptionSpec {
  return { kind: 'count', initial, min, max, mayBeInfinite: max === Infinity }
}

/** Milliseconds of at least 0; `Infinity` turns the limit off. */
export function duration (initial: number): OptionSpec {
  return { kind: 'duration', initial }
}

/** On or off. */
export function flag (initial: boolean): OptionSpec {
  return { kind: 'flag', initial }
}

/**
 * Reads `init` by `table`.
 *
 * @param table - the options that exist
 * @param init - what the caller gave; an absent or undefined option takes its default
 * @param action - what the caller was doing, for the message: `Cannot make a connection`
 * @param others - options that the caller reads by itself: not in the result, but known
 * @throws TypeError for an unknown option or a value of the wrong type, or when `init` is no object
 * @throws RangeError for a number outside its range
 */
export function parseOptions<Config extends object> (
  table: OptionTable<Config>, init: object, action: string, others: readonly string[] = []
): Config {
  checkNames(init, [...others, ...Object.keys(table)], action)
  const given = new Map(Object.entries(init))
  const specs = Object.entries<OptionSpec>(table)
  return Object.freeze(Object.fromEntries(specs.map(([name, spec]) => [name, parseOption(name, spec, given.get(name), action)]))) as Config
}

/**
 * Refuses what is no object of options, and options that do not exist.
 *
 * @throws TypeError with the nearest option, and all there are
 */
export function checkNames (init: unknown, known: readonly string[], action: string): asserts init is object {
  if (typeof init !== 'object' || init === null || Array.isArray(init)) {
    throw new TypeError(`${action}: options must be an object, received ${kindOf(init)}`)
  }
  for (const name of Object.keys(init)) {
    if (!known.includes(name)) {
      throw new TypeError(`${action}: ${unknownName('option', show(name), known)}`)
    }
  }
}

/** The kind of a value, for messages. */
export function kindOf (value: unknown): string {
  if (value === null) {
    return 'null'
  }
  return Array.isArray(value) ? 'an array' : typeof value
}

function parseOption (name: string, spec: OptionSpec, value: unknown, action: string): number | boolean {
  if (value === undefined) {
    return spec.initial
  }
  switch (spec.kind) {
    case 'flag':
      if (typeof value !== 'boolean') {
        throw new TypeError(`${action}: ${name} must be true or false, received ${typeof value}`)
      }
      return value
    case 'duration':
      return parseDuration(name, number(name, value, action), action)
    case 'count': {
      const counted = number(name, value, action)
      const isWhole = Number.isInteger(counted) || (counted === Infinity && spec.mayBeInfinite)
      if (!isWhole || counted < spec.min || counted > spec.max) {
        throw new RangeError(`${action}: ${name} must be a whole number from ${spec.min} to ${spec.max}, received ${counted}`)
      }
      return counted
    }
  }
}

function parseDuration (name: string, durationMs: number, action: string): number {
  if (!(durationMs >= 0)) {
    throw new RangeError(`${action}: ${name} must be milliseconds of at least 0, received ${durationMs}`)
  }
  return durationMs
}

function number (name: string, value: unknown, action: string): number {
  if (typeof value !== 'number') {
    throw new TypeError(`${action}: ${name} must be a number, received ${typeof value}`)
  }
  return value
}
