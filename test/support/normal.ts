/** Normally distributed numbers of mean 0 and deviation 1, from numbers of 0 to below 1 (Box and Muller). */
export function normal (random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}
