import { show } from '../core/printable.ts'

/** Most names that a label takes; memory of whoever collects, for each of them and for ever. */
const MAX_VALUES = 256

/** For all names after those. */
const OTHER = 'other'

/**
 * The values of a label (S11.2): the first 256 names as printable text, `other` for all that come later. Only names that this
 * node listed or asked for may be given to it.
 */
export class MetricLabels {
  readonly #labels = new Map<string, string>()

  /** The label for `name`. */
  of (name: string): string {
    const known = this.#labels.get(name)
    if (known !== undefined) {
      return known
    }
    if (this.#labels.size >= MAX_VALUES) {
      return OTHER
    }
    const label = show(name)
    this.#labels.set(name, label)
    return label
  }
}
