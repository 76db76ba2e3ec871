/**
 * Figures as they are set on a page: the texts of the terminal with a true minus sign and no break before a unit, and
 * factors that can be told apart on both sides of no change.
 */

import { formatBytes, formatDuration, formatFactor, formatP } from '../format.ts'

const SPACE = '\u00a0'
const MINUS = '\u2212'

/** A time, as `1.18 µs`. */
export function showTime (ns: number): string {
  return typeset(formatDuration(ns))
}

/** A round time, for axes: `10 µs`. */
export function showRoundTime (ns: number): string {
  return showTime(ns).replace(/\.0+(?!\d)|(\.\d*[1-9])0+(?!\d)/, '$1')
}

/** An amount of memory, as `713 B` or `42.3 kB`. */
export function showBytes (bytes: number): string {
  return typeset(formatBytes(bytes))
}

/** A ratio as a change: `−10.3 %`; from half and double on as a factor, `÷4.26` and `×2.35`. */
export function showChange (ratio: number): string {
  if (ratio >= 2) {
    return `×${formatFactor(ratio)}`
  }
  if (ratio > 0 && ratio <= 0.5) {
    return `÷${formatFactor(1 / ratio)}`
  }
  const percent = Math.abs((ratio - 1) * 100).toFixed(1)
  const sign = Number(percent) === 0 ? '±' : ratio < 1 ? MINUS : '+'
  return `${sign}${percent}${SPACE}%`
}

/** A round change, for axes: `−10 %`, `÷2`. */
export function showRoundChange (ratio: number): string {
  return ratio > 0.5 && ratio < 2
    ? showChange(ratio).replace('.0', '')
    : `${ratio < 1 ? '÷' : '×'}${Math.round(Math.max(ratio, 1 / ratio)).toLocaleString('en')}`
}

/** A p-value. */
export function showProbability (p: number): string {
  return typeset(formatP(p))
}

/** A bare number: `0.04`. */
export function showNumber (value: number): string {
  return typeset(String(Number(value.toPrecision(3))))
}

/** A duration in words for people, as `6 min 2 s`. */
export function showDuration (ms: number): string {
  const seconds = Math.round(ms / 1000)
  const minutes = Math.floor(seconds / 60)
  if (minutes === 0) {
    return typeset(`${seconds} s`)
  }
  return typeset(minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`)
}

/** A fraction as a percentage without a sign: `2 %`. */
export function showShare (fraction: number): string {
  return typeset(`${Number((fraction * 100).toPrecision(3))} %`)
}

/** `1 cell`, `2 cells`. */
export function counted (count: number, noun: string): string {
  return typeset(`${count} ${noun}${count === 1 ? '' : 's'}`)
}

function typeset (text: string): string {
  return text.replaceAll(' ', SPACE).replace('-', MINUS)
}
