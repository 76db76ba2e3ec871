/** The two distributions that intervals and p-values come from, in double precision. */

/** The part of a standard normal distribution that lies below `x`. */
export function normalCdf (x: number): number {
  if (Math.abs(x) > NORMAL_END) {
    return x < 0 ? 0 : 1
  }
  // Marsaglia's series: all terms have one sign, so nothing cancels.
  let sum = x
  let term = x
  for (let divisor = 3; Math.abs(term) > Math.abs(sum) * Number.EPSILON; divisor += 2) {
    term *= x * x / divisor
    sum += term
  }
  return 0.5 + sum * Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI)
}

/** Beyond it no double is left between the result and 0 or 1. */
const NORMAL_END = 8.5

/**
 * How probable it is that a variable of Student's distribution is at least as far from 0 as `t`, on either side.
 *
 * @param degrees - degrees of freedom, at least 1
 */
export function studentTwoSided (t: number, degrees: number): number {
  return incompleteBeta(degrees / (degrees + t * t), degrees / 2, 0.5)
}

/**
 * The value that a variable of Student's distribution stays below with probability `p`.
 *
 * @param p - above 0.5 and below 1
 * @param degrees - degrees of freedom, at least 1
 */
export function studentQuantile (p: number, degrees: number): number {
  const bothTails = 2 * (1 - p)
  let below = 0
  let above = 1
  while (studentTwoSided(above, degrees) > bothTails) {
    below = above
    above *= 2
  }
  for (let step = 0; step < BISECTIONS; step++) {
    const middle = (below + above) / 2
    if (studentTwoSided(middle, degrees) > bothTails) {
      below = middle
    } else {
      above = middle
    }
  }
  return (below + above) / 2
}

/** Halvings until the interval is as narrow as a double allows. */
const BISECTIONS = 60

/** The regularised incomplete beta function, by its continued fraction on the side where that converges fast. */
function incompleteBeta (x: number, a: number, b: number): number {
  if (x <= 0 || x >= 1) {
    return x <= 0 ? 0 : 1
  }
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x))
  return x < (a + 1) / (a + b + 2)
    ? front * betaFraction(x, a, b) / a
    : 1 - front * betaFraction(1 - x, b, a) / b
}

/** Lentz's way to evaluate a continued fraction from its front. */
function betaFraction (x: number, a: number, b: number): number {
  let c = 1
  let d = 1 / awayFromZero(1 - (a + b) * x / (a + 1))
  let result = d
  for (let m = 1; m <= FRACTION_TERMS; m++) {
    const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / awayFromZero(1 + even * d)
    c = awayFromZero(1 + even / c)
    result *= d * c
    const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / awayFromZero(1 + odd * d)
    c = awayFromZero(1 + odd / c)
    result *= d * c
    if (Math.abs(d * c - 1) < Number.EPSILON) {
      break
    }
  }
  return result
}

/** Far more than ever needed for degrees of freedom below a million. */
const FRACTION_TERMS = 1000

function awayFromZero (value: number): number {
  return Math.abs(value) < Number.MIN_VALUE / Number.EPSILON ? Number.MIN_VALUE / Number.EPSILON : value
}

/** Coefficients of Lanczos for g = 7. */
const LANCZOS_FIRST = 0.999_999_999_999_809_93
const LANCZOS = [
  676.520_368_121_885_1, -1259.139_216_722_402_8, 771.323_428_777_653_13, -176.615_029_162_140_6,
  12.507_343_278_686_905, -0.138_571_095_265_720_12, 9.984_369_578_019_572e-6, 1.505_632_735_149_311_6e-7
]

/** For arguments of at least 0.5, which are all that occur. */
function logGamma (x: number): number {
  const series = LANCZOS.reduce((sum, coefficient, index) => sum + coefficient / (x + index), LANCZOS_FIRST)
  const t = x + 6.5
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(series)
}
