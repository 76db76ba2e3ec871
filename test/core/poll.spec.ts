import { describe, expect, it } from 'vitest'
import { PENDING } from '../../src/core/poll.ts'
import type { Poll } from '../../src/core/poll.ts'

describe('PENDING', () => {
  it('is told apart from every value, undefined included', () => {
    const answers: ReadonlyArray<Poll<string | undefined>> = [PENDING, undefined, 'pending']
    expect(answers.map(answer => answer === PENDING)).toEqual([true, false, false])
  })
})
