import { describe, expect, it } from 'vitest'
import { notesOf, outliers } from '../../src/bench/notes.ts'
import type { RoundRecord } from '../../src/bench/session.ts'
import type { MeasuredOutcome } from '../../src/bench/task.ts'

const quiet: MeasuredOutcome = {
  type: 'measured', samples: [100, 101, 102], calibration: { iterations: 1, repeat: 1, count: 1 }, checksum: 1, gcs: 0, switches: 0,
  isAsync: false, isSteady: true, linearity: 2
}

function roundsOf (...changes: Array<Partial<MeasuredOutcome>>): RoundRecord[] {
  return changes.map((change, index) => ({ seed: 1 + index % 5, round: 1 + Math.floor(index / 5), order: index, outcome: { ...quiet, ...change } }))
}

/** Six rounds without a trend. */
const none = [{}, {}, {}, {}, {}, {}]

describe('notesOf', () => {
  it('has nothing to say of a quiet cell', () => {
    expect(notesOf(roundsOf(...none), 101, 1)).toEqual([])
  })

  it.each<[string, Array<Partial<MeasuredOutcome>>, string]>([
    ['one process', [{}], 'n=1'],
    ['a body that works once', none.map(() => ({ linearity: 1 })), 'suspect'],
    ['a body that does more each time', none.map(() => ({ linearity: 2.3 })), 'suspect'],
    ['promises', none.map(() => ({ isAsync: true })), 'async'],
    ['a warm-up that did not end', [...none, { isSteady: false }], 'not-steady 1/7'],
    ['a busy machine', none.map(() => ({ switches: 101 })), 'switches'],
    ['costs that grow with time', none.map((_, index) => ({ samples: [100 + index] })), 'drift'],
    ['costs that fall with time', none.map((_, index) => ({ samples: [100 - index] })), 'drift'],
    ['two peaks', none.map((_, index) => ({ samples: index % 2 === 0 ? [100, 101, 200] : [100, 201, 200] })), 'bimodal'],
    ['one sample far out', [...none, { samples: [100, 101, 900] }], 'severe outliers 1/21']
  ])('tells %s', (_, rounds, note) => {
    expect(notesOf(roundsOf(...rounds), 101, 1)).toContain(note)
  })

  it('tells a figure near that of the empty body, where there is one', () => {
    expect(notesOf(roundsOf(...none), 101, 60)).toEqual(['at-floor'])
    expect(notesOf(roundsOf(...none), 101, undefined)).toEqual([])
  })

  it('a linearity that was seldom measured, or once off, is no reason', () => {
    expect(notesOf(roundsOf(...none, { linearity: 9 }), 101, 1)).toEqual([])
    const { linearity: _, ...unknown } = quiet
    expect(notesOf([{ seed: 1, round: 1, order: 0, outcome: unknown }, { seed: 2, round: 1, order: 1, outcome: unknown }], 101, 1)).toEqual([])
  })

  it('what processes differ by is no second peak', () => {
    const processes = [100, 200, 100, 200, 150].map(ns => ({ samples: [ns, ns * 1.01, ns * 0.99] }))
    expect(notesOf(roundsOf(...processes, ...processes), 101, 1)).not.toContain('bimodal')
  })

  it('equal samples have neither peaks nor outliers', () => {
    expect(notesOf(roundsOf(...none.map(() => ({ samples: [100, 100, 100] }))), 100, 1)).toEqual([])
  })
})

describe('outliers', () => {
  it('by Tukey\'s fences and by deviations of their own side, as computed by hand', () => {
    // Quartiles 2.75 and 8.25: fences at -5.5, 16.5 and -13.75, 24.75. Deviations above the median of 5.5: median 2.5.
    expect(outliers([1, 2, 3, 4, 5, 6, 7, 8, 9, 20])).toEqual({ mild: 1, severe: 0, far: 1 })
    expect(outliers([1, 2, 3, 4, 5, 6, 7, 8, 9, 50])).toEqual({ mild: 0, severe: 1, far: 1 })
    expect(outliers([1, 2, 3])).toEqual({ mild: 0, severe: 0, far: 0 })
    expect(outliers([7])).toEqual({ mild: 0, severe: 0, far: 0 })
  })
})
