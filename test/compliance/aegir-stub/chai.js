import chai from 'chai'
import promised from 'chai-as-promised'
import bites from 'chai-bites'
import parentheses from 'chai-parentheses'
import strings from 'chai-string'
import subset from 'chai-subset'

// The suites rely on this order: parentheses wrap what the plug-in before them added.
for (const plugin of [promised, parentheses, subset, bites, strings]) {
  chai.use(plugin)
}

export const { expect, assert } = chai
export { chai }
