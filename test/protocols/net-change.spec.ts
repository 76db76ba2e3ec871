import { describe, expect, it } from 'vitest'
import { NetChange } from '../../src/protocols/net-change.ts'

/** What is left of changes in order, each with a sign in front. */
function net (...changes: readonly string[]): { added: readonly string[], removed: readonly string[], isEmpty: boolean } {
  const change = new NetChange()
  for (const text of changes) {
    change.note(text.startsWith('+') ? 'added' : 'removed', [text.slice(1)])
  }
  return { added: change.of('added'), removed: change.of('removed'), isEmpty: change.isEmpty }
}

describe('NetChange', () => {
  it('is what is left of several changes, in the order in which it came (S3.15)', () => {
    expect(net()).toEqual({ added: [], removed: [], isEmpty: true })
    expect(net('+/a', '-/b', '+/c')).toEqual({ added: ['/a', '/c'], removed: ['/b'], isEmpty: false })
    expect(net('+/a', '+/a')).toEqual({ added: ['/a'], removed: [], isEmpty: false })
    expect(net('-/b')).toEqual({ added: [], removed: ['/b'], isEmpty: false })
  })

  it('leaves out what was taken back (S10.7)', () => {
    expect(net('+/a', '-/a')).toEqual({ added: [], removed: [], isEmpty: true })
    expect(net('-/a', '+/a')).toEqual({ added: [], removed: [], isEmpty: true })
    expect(net('+/a', '-/a', '+/a')).toEqual({ added: ['/a'], removed: [], isEmpty: false })
    expect(net('-/a', '+/a', '-/a', '+/b')).toEqual({ added: ['/b'], removed: ['/a'], isEmpty: false })
  })
})
