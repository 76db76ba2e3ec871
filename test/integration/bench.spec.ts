import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plan } from '../../benches/matrix.ts'
import { runAll } from '../../benches/runner.ts'
import type { Bench } from '../../benches/matrix.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Result {
  readonly id: string
  readonly params: Record<string, string | number>
  readonly unit: string
  readonly low: number
  readonly mid: number
  readonly high: number
  readonly samples: number[]
}

/** Runs what `npm run bench -- ...` runs after the build. */
async function bench (...args: string[]): Promise<{ code: number, stdout: string, stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', 'tsx', 'benches/main.ts', ...args], { cwd: root }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : NaN, stdout, stderr })
    })
  })
}

describe('the bench harness', () => {
  const benches: Record<string, Bench> = {
    sound: { run: iterations => iterations, verify: (iterations, checksum) => checksum === iterations },
    patient: { run: async iterations => iterations, verify: (iterations, checksum) => checksum === iterations },
    idle: { run: () => 0, verify: (iterations, checksum) => checksum === iterations },
    throwing: { run: () => { throw new TypeError('broken') }, verify: () => true },
    rejecting: { run: async () => { throw new TypeError('broken') }, verify: () => true }
  }
  const matrixOf = (...variants: string[]) => ({
    name: 'harness',
    cells: variants.map(variant => ({ variant })),
    iterations: 100,
    baseline: 'sound',
    setup: ({ variant }: { variant: string }) => {
      const bench = benches[variant]
      if (bench === undefined) {
        throw new RangeError(`no bench ${variant}`)
      }
      return bench
    }
  })

  it('fails a cell that throws, rejects or did not do its work, and measures the others', async () => {
    const told: string[] = []
    const cells = plan(matrixOf('sound', 'patient', 'idle', 'throwing', 'rejecting', 'missing'))
    const results = await runAll(cells, { rounds: 2, samples: 2, minTimeMs: 1, warmUpMs: 1 }, text => told.push(text))
    expect(results).toMatchObject([
      { id: 'harness/variant=sound', samples: Array(4).fill(expect.any(Number)) },
      { id: 'harness/variant=patient', samples: Array(4).fill(expect.any(Number)) },
      { id: 'harness/variant=idle', error: { name: 'Error', message: expect.stringContaining('the work was not done') as string } },
      { id: 'harness/variant=throwing', error: { name: 'TypeError', message: 'broken' } },
      { id: 'harness/variant=rejecting', error: { name: 'TypeError', message: 'broken' } },
      { id: 'harness/variant=missing', error: { name: 'RangeError', message: 'no bench missing' } }
    ])
    expect(told).toHaveLength(6 + 2)
  })

  it('refuses two cells of the same id', () => {
    expect(() => plan(matrixOf('sound', 'sound'))).toThrow(RangeError)
  })
})

describe('npm run bench', () => {
  let folder = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bench-'))
  })

  afterAll(async () => {
    await rm(folder, { recursive: true })
  })

  it('lists the cells of all matrices', async () => {
    const { code, stdout } = await bench('--list')
    const ids = stdout.trimEnd().split('\n')
    expect(code).toBe(0)
    expect(ids.filter(id => id.startsWith('negotiation-pair/'))).toHaveLength(5 * 2)
    expect(ids.filter(id => id.startsWith('negotiation-refusals/'))).toHaveLength(4 * 2)
    expect(ids.filter(id => id.startsWith('negotiation-streams/'))).toHaveLength(2 * 3)
    expect(ids.filter(id => id.startsWith('negotiation-sans-io/'))).toHaveLength(3 * 2)
    expect(ids.filter(id => id.startsWith('connection-poll/'))).toHaveLength(12 * 2)
    expect(ids).toContain('negotiation-pair/protocols=1000/variant=ours')
    expect(ids).toContain('connection-poll/behaviours=5/protocols=200/variant=one-woke')
  })

  it('measures some cells and writes them to a file', async () => {
    const file = join(folder, 'report.json')
    const { code, stdout, stderr } = await bench('--quick', '--filter', 'negotiation-pair/protocols=1/', '--filter', 'behaviours=1/protocols=10/', '--json', file)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const text = await readFile(file, 'utf8')
    expect(text).not.toContain(root)
    const report = JSON.parse(text) as { schema: string, environment: { node: string }, results: Result[] }
    expect(report).toMatchObject({ schema: 'behaviours-bench/1', environment: { node: process.version } })
    expect(report.results.map(({ id, params, unit }) => ({ id, params, unit }))).toEqual([
      { id: 'negotiation-pair/protocols=1/variant=ours', params: { protocols: 1, variant: 'ours' }, unit: 'ns' },
      { id: 'negotiation-pair/protocols=1/variant=stock', params: { protocols: 1, variant: 'stock' }, unit: 'ns' },
      { id: 'connection-poll/behaviours=1/protocols=10/variant=one-woke', params: { behaviours: 1, protocols: 10, variant: 'one-woke' }, unit: 'ns' },
      { id: 'connection-poll/behaviours=1/protocols=10/variant=clone', params: { behaviours: 1, protocols: 10, variant: 'clone' }, unit: 'ns' }
    ])
    for (const { id, low, mid, high, samples } of report.results) {
      expect(samples).toHaveLength(9)
      expect(samples.every(sample => sample > 0)).toBe(true)
      expect(low).toBeLessThanOrEqual(mid)
      expect(mid).toBeLessThanOrEqual(high)
      expect(stdout).toContain(id)
    }
  })

  it.each([
    ['an unknown option', ['--fast']],
    ['an argument', ['negotiation-pair']],
    ['a broken expression', ['--filter', '(']],
    ['a filter that no cell matches', ['--filter', 'nothing']],
    ['a file that cannot be written', ['--json', 'no-such-folder/report.json']],
    ['a missing value', ['--json']]
  ])('answers %s with one line and exit code 2', async (_, args) => {
    const { code, stdout, stderr } = await bench(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^bench: [^\n]+\n$/)
  })
})
