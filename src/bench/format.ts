/** Figures as people read them: three significant digits. */

import type { Change } from './report.ts'

const UNITS = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]] as const

/** `1.18 µs` */
export function formatDuration (ns: number): string {
  const [unit, size] = UNITS.findLast(([, least]) => ns >= least * 0.9995) ?? UNITS[0]
  return `${significant(ns / size)} ${unit}`
}

/** Three significant digits, and no exponent: `1.18`, `16.5`, `291`, `40650`. */
export function significant (value: number): string {
  if (value === 0 || Math.abs(value) >= 999.5) {
    return value.toFixed(0)
  }
  const text = value.toPrecision(3)
  return text.includes('e') ? value.toFixed(Math.min(20, 2 - Math.floor(Math.log10(Math.abs(value))))) : text
}

/** `+10.3 %`, of a ratio of 1.103. Large ones are factors: `x 12.1`, and `/ 12.1` for its inverse. */
export function formatChange (ratio: number): string {
  if (ratio >= LARGE) {
    return `x ${formatFactor(ratio)}`
  }
  if (ratio > 0 && ratio <= 1 / LARGE) {
    return `/ ${formatFactor(1 / ratio)}`
  }
  const percent = (ratio - 1) * 100
  const digits = Math.abs(percent).toFixed(1)
  return `${digits === '0.0' ? '' : percent < 0 ? '-' : '+'}${digits} %`
}

/** Three significant digits of a factor, shortened from ten thousand on: `12.1`, `4065`, `102K`, `1.69M`. */
export function formatFactor (factor: number): string {
  return factor < SHORTENED ? significant(factor) : COMPACT.format(factor)
}

const SHORTENED = 9999.5
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })

/** From here on a factor says more than percents. */
const LARGE = 10

/** Never 0: the distribution far out is a guess. */
export function formatP (p: number): string {
  return p < 0.001 ? '< 0.001' : p.toFixed(p < 0.01 ? 3 : 2)
}

/** A verdict, in brackets when it comes from runs that should not be compared. */
export function formatVerdict ({ verdict }: Pick<Change, 'verdict'>, isBracketed: boolean): string {
  return isBracketed ? `(${verdict})` : verdict
}

/** `6 min`, `35 s` */
export function formatTime (ms: number): string {
  return ms < 99_500 ? `${Math.ceil(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`
}

/** `1.07 kB` */
export function formatBytes (bytes: number): string {
  return bytes < 1000 ? `${significant(bytes)} B` : `${significant(bytes / 1000)} kB`
}
