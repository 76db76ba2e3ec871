import { describe, expect, it } from 'vitest'
import { shrinkScript, simulate } from '../../src/testing/index.ts'

describe('simulate', () => {
  const draw = (random: () => number): number[] => Array.from({ length: 20 }, () => Math.floor(random() * 100))

  it('plays as many scripts as it was told, one for each seed', () => {
    const seeds: number[] = []
    const scripts: number[][] = []
    const play = (script: readonly number[]): void => { scripts.push([...script]) }
    expect(simulate({ draw, play }, { seed: 7, count: 3, onScript: seed => seeds.push(seed) })).toBeUndefined()
    expect(seeds).toEqual([7, 8, 9])
    expect(new Set(scripts.map(script => script.join())).size).toBe(3)
  })

  it('stops at the first script that throws and leaves out all that is not needed for it', () => {
    const play = (script: readonly number[]): void => {
      const high = script.filter(step => step > 80)
      if (high.length >= 2) {
        throw new RangeError(`too high: ${high.join()}`)
      }
    }
    const broken = simulate({ draw, play }, { seed: 1, count: 100 })
    expect(broken?.script).toHaveLength(2)
    expect(broken?.script.every(step => step > 80)).toBe(true)
    expect(broken?.error).toEqual(new RangeError(`too high: ${broken?.script.join() ?? ''}`))
    expect(simulate({ draw, play }, { seed: broken?.seed ?? 0, count: 1 })).toEqual(broken)
  })

  it('takes a throw of undefined for one', () => {
    const nothing: unknown = undefined
    const broken = simulate({ draw, play: () => { throw nothing } }, { seed: 3, count: 1 })
    expect(broken).toEqual({ seed: 3, script: [], error: undefined })
  })
})

describe('shrinkScript', () => {
  const letters = 'a long enough text'.split('')

  it.each([['o', 'h'], ['a', 't'], ['l', 'x']])('keeps just what it takes, in order: %s and %s', (first, last) => {
    const isBroken = (steps: readonly string[]): boolean => steps.includes(first) && steps.indexOf(last, steps.indexOf(first)) >= 0
    expect(shrinkScript(letters, isBroken).join('')).toBe(first + last)
  })

  it('leaves nothing out of a script that needs all of it', () => {
    expect(shrinkScript(letters, steps => steps.length === letters.length)).toEqual(letters)
  })

  it('takes steps out that became needless later', () => {
    // The 1 is needed as long as there is a 2.
    const isBroken = (steps: readonly number[]): boolean => steps.includes(3) && (!steps.includes(2) || steps.includes(1))
    expect(shrinkScript([1, 2, 3], isBroken)).toEqual([3])
  })
})
