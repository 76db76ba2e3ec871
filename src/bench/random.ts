/** Draws, from numbers of 0 to below 1 that the caller brings. */

/**
 * One of `values`, each as likely as the others.
 *
 * @throws RangeError for an empty list
 */
export function pick<Value> (values: readonly Value[], random: () => number): Value {
  const value = values[Math.floor(random() * values.length)]
  if (value === undefined) {
    throw new RangeError('Cannot pick a value: the list must not be empty')
  }
  return value
}

/** The same values in an order of which none is likelier than another; the list itself stays as it is. */
export function shuffled<Value> (values: readonly Value[], random: () => number): Value[] {
  return values
    .map(value => ({ value, key: random() }))
    .sort((left, right) => left.key - right.key)
    .map(({ value }) => value)
}
