import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { matrix } from '../../src/bench/index.ts'
import { FakeBenchHost } from '../support/fake-bench-host.ts'
import type { Report } from '../../src/bench/index.ts'
import type { VirtualMachine } from '../support/virtual-machine.ts'

const hosts: FakeBenchHost[] = []

afterEach(() => {
  for (const { cwd } of hosts.splice(0)) {
    rmSync(cwd, { recursive: true })
  }
})

/** Costs of the variants, in nanoseconds of an iteration; what they do may be changed meanwhile. */
function hostWith (costs: Record<string, number>, more: (machine: VirtualMachine) => object = () => ({})) {
  const host = new FakeBenchHost(machine => [matrix({
    name: 'sample',
    axes: { size: [1, 10, 100], variant: Object.keys(costs) },
    baseline: { variant: Object.keys(costs)[0]! },
    setup: ({ size, variant }) => ({ size, variant }),
    run: ({ size, variant }, iterations) => {
      machine.spend(costs[variant]! * size * iterations)
      return iterations
    },
    verify: (_, { iterations, checksum }) => iterations === checksum,
    ...more(machine)
  })])
  hosts.push(host)
  return host
}

const FAST = ['--min-time', '1', '--warm-up', '3']
const two = { slow: 60_000, fast: 30_000 }

/** What `--json -` printed. */
function reportOf (stdout: string): Report {
  return JSON.parse(stdout) as Report
}

describe('which cells', () => {
  it('--list prints their ids and runs nothing', async () => {
    const host = hostWith(two)
    host.onTask = () => { throw new Error('ran') }
    expect(await host.run('--list')).toEqual({
      code: 0,
      stdout: [1, 10, 100].flatMap(size => ['slow', 'fast'].map(variant => `sample/size=${size}/variant=${variant}\n`)).join(''),
      stderr: ''
    })
  })

  it.each([
    [['--filter', 'size=1/'], 2],
    [['--filter', 'size=1/', '--filter', 'fast'], 4],
    [['--where', 'size=1..10'], 4],
    [['--where', 'size=10..'], 4],
    [['--where', 'size=1,100', '--where', 'variant=fast'], 2],
    [['--where', 'size=..', '--filter', 'slow$'], 3]
  ])('%j are %d', async (args, count) => {
    const { stdout } = await hostWith(two).run('--list', ...args)
    expect(stdout.trim().split('\n')).toHaveLength(count)
  })

  it('--check runs each once, and tells what failed', async () => {
    const host = hostWith(two)
    expect(await host.run('--check')).toEqual({ code: 0, stdout: '6 of 6 cells did their work\n', stderr: '' })
    const idle = hostWith(two, () => ({ verify: ({ variant }: { variant: string }) => variant === 'slow' }))
    const { code, stdout } = await idle.run('--check')
    expect(code).toBe(1)
    expect(stdout).toContain('sample/size=1/variant=fast failed in verify: Error: the work was not done')
    expect(stdout).toMatch(/\n3 of 6 cells did their work\n$/)
  })
})

describe('a run', () => {
  it.each([
    ['--quick', [1]],
    ['--rounds=2', [1, 2]]
  ])('%s counts bytes and looks at linearity in the first round of processes %j', async (amounts, seeds) => {
    const host = hostWith(two)
    const lookedInto: unknown[] = []
    host.onTask = ({ cell, sampling }, place) => {
      if (cell === 'sample/size=1/variant=slow') {
        lookedInto.push({ place, bytes: sampling?.isMemoryMeasured, linearity: sampling?.isLinearityChecked })
      }
    }
    await host.run(amounts, ...FAST, '--processes', '2', '--filter', 'size=1/variant=slow')
    expect(lookedInto.filter(task => (task as { bytes: boolean }).bytes)).toHaveLength(2 * seeds.length)
    expect(lookedInto.filter(task => (task as { linearity: boolean }).linearity)).toHaveLength(2 * seeds.length)
  })

  it('prints what it will take, a line a round, a table and the controls', async () => {
    const { code, stdout, stderr } = await hostWith(two).run(...FAST, '--where', 'size=1,10')
    expect(code).toBe(0)
    expect(stderr).toContain('7 cells x 5 processes x 6 rounds x 1 sample: about')
    expect(stderr).toContain('process 5, round 6, cell 204 of 210, about')
    expect(stdout).toContain('sample\nsize | variant |     low      mid     high | bytes |           change          |       p |  verdict\n')
    expect(stdout).toContain('   1 |    fast | 30.0 µs  30.0 µs  30.0 µs |   0 B | -50.0 %  -50.0 %  -50.0 % | < 0.001 | improved\n')
    expect(stdout).toContain('twin: the same code differs by 0.0 %')
    expect(stdout).toContain('noise: 2.00 %\nv20.0.0,')
  })

  it('overwrites one line on a terminal, and has colours there', async () => {
    const host = hostWith(two)
    host.isTerminal = true
    const { stdout, stderr } = await host.run('--quick', ...FAST)
    expect(stderr).toContain('\r\u001b[2Kprocess 1, round 1, cell 1 of 27')
    expect(stderr.endsWith('\r\u001b[2K')).toBe(true)
    expect(stdout).toContain('\u001b[32m')
  })

  it('is the same for the same order seed, and shuffles every round', async () => {
    const orderOf = async (...args: string[]) => {
      const host = hostWith(two)
      const order: string[] = []
      host.onTask = (task) => { order.push(task.cell) }
      await host.run('--quick', ...FAST, ...args)
      return order
    }
    const order = await orderOf('--order-seed', '5')
    expect(await orderOf('--order-seed', '5')).toEqual(order)
    expect(await orderOf('--order-seed', '6')).not.toEqual(order)
    expect(order.slice(0, 9)).not.toEqual(order.slice(9, 18))
    expect(order.slice(0, 9).toSorted()).toEqual(order.slice(9, 18).toSorted())
    // Cells that are compared with each other follow each other, and the twin follows them.
    const sizes = order.slice(0, 9).map(cell => /size=\d+/.exec(cell)?.[0] ?? cell)
    expect(sizes.filter((size, at) => size !== sizes[at - 1])).toHaveLength(new Set(sizes).size)
  })

  it('keeps samples in order of time, rounds as slices of them, and calibration for all rounds', async () => {
    const { stdout } = await hostWith({ only: 1000 }).run(...FAST, '--json', '-', '--where', 'size=1', '--processes', '2', '--rounds', '2', '--samples', '2')
    const [result] = reportOf(stdout).results
    expect(result).toMatchObject({
      samples: Array(8).fill(expect.closeTo(1000, 6)),
      rounds: [[1, 1], [1, 2], [2, 1], [2, 2]].map(([seed, round], index) => ({ seed, round, from: 2 * index, to: 2 * index + 2, repeat: 64 }))
    })
  })

  it('a failing cell fails alone (S13.5, B08)', async () => {
    let runs = 0
    const host = hostWith(two, machine => ({
      run: ({ size, variant }: { size: number, variant: string }, iterations: number) => {
        if (size === 10 && variant === 'fast' && ++runs === 3) {
          throw new TypeError('third run')
        }
        machine.spend(1000 * iterations)
        return iterations
      }
    }))
    const { code, stdout, stderr } = await host.run('--quick', ...FAST, '--json', '-')
    const { results } = reportOf(stdout)
    expect(code).toBe(1)
    expect(results.filter(result => 'error' in result)).toEqual([
      { id: 'sample/size=10/variant=fast', params: { size: 10, variant: 'fast' }, unit: 'ns', error: { stage: 'run', name: 'TypeError', message: 'third run' } }
    ])
    expect(results).toHaveLength(6)
    expect(stderr).toContain('  10 |    fast | failed in run: TypeError: third run\n')
  })

  it('Ctrl-C keeps what is finished and marks the running cell aborted (S13.5)', async () => {
    const host = hostWith(two)
    let running = ''
    host.onTask = ({ cell }, place, interrupt) => {
      if (place === 14) {
        running = cell
        interrupt()
      }
    }
    // In this order no control stands there.
    const { code, stdout } = await host.run('--quick', ...FAST, '--order-seed', '3', '--json', '-', '--save-baseline', 'broken')
    const { results } = reportOf(stdout)
    expect(code).toBe(130)
    expect(results.filter(result => 'samples' in result).length).toBeGreaterThan(4)
    for (const result of results) {
      expect('error' in result).toBe(result.id === running)
    }
    expect(existsSync(join(host.cwd, '.bench', 'broken.json'))).toBe(false)
  })

  it('Ctrl-C in the first round marks what was not reached', async () => {
    const host = hostWith(two)
    host.onTask = (_, place, interrupt) => { if (place === 2) { interrupt() } }
    const { code, stdout } = await host.run('--quick', ...FAST, '--json', '-')
    expect(code).toBe(130)
    expect(reportOf(stdout).results.filter(result => 'error' in result && result.error.stage === 'aborted').length).toBeGreaterThanOrEqual(4)
  })

  it('--max-time takes rounds, samples, warm-up, then processes', async () => {
    const { stdout } = await hostWith(two).run('--samples', '3', '--warm-up', '60', '--min-time', '10', '--json', '-', '--max-time', '20')
    expect(reportOf(stdout).options).toMatchObject({ processes: 5, rounds: 1, samples: 3 })
  })

  it('says that benny is missing, and goes on without it', async () => {
    const host = hostWith(two)
    host.installed.delete('benny')
    const { code, stdout, stderr } = await host.run('--quick', ...FAST, '--json', '-')
    expect(code).toBe(0)
    expect(stderr).toContain('benny is not installed, so the builtin executor takes the samples: npm install --save-dev benny@^3.7.1\n')
    expect(reportOf(stdout).environment.executor).toBe('builtin')
  })
})

describe('baselines', () => {
  it('are saved, listed, compared with and compared with each other', async () => {
    const costs = { ...two }
    const host = hostWith(costs)
    expect(await host.run('--list-baselines')).toMatchObject({ code: 0, stdout: '' })
    await host.run(...FAST, '--save-baseline', 'before')
    costs.fast *= 1.2
    const { code, stdout } = await host.run(...FAST, '--baseline', 'before', '--save-baseline', 'after', '--fail-on', 'regressed', '--json', '-')
    expect(code).toBe(1)
    const report = reportOf(stdout)
    expect(report.results.filter(({ params }) => params['variant'] === 'fast')).toEqual(Array(3).fill(expect.objectContaining({
      baseline: expect.objectContaining({ name: 'before', ratio: expect.closeTo(1.2, 6) as number, verdict: 'regressed', pairs: 5 }) as object,
      others: [expect.objectContaining({ verdict: 'improved' })]
    })))
    expect(report.controls.fixedChange).toMatchObject({ name: 'before', ratio: expect.closeTo(1, 9) as number })
    expect(await host.run('--list-baselines')).toMatchObject({ stdout: 'after\nbefore\n' })
    const compared = await host.run('--compare', 'before', 'after', '--fail-on', 'regressed')
    expect(compared.code).toBe(1)
    expect(compared.stderr).toContain('after against before\nregressed: sample/size=1/variant=fast\n')
    expect(compared.stdout).toContain('+20.0 %')
    expect((await host.run('--compare', 'before', 'before', 'after')).stdout.match(/^sample$/gm)).toHaveLength(2)
  })

  it('a slower machine adds its shift to the noise', async () => {
    const host = hostWith(two)
    await host.run(...FAST, '--save-baseline', 'before')
    host.spread = { processes: 0.001, rounds: 0 }
    const spend = host.machine.spend.bind(host.machine)
    host.machine.spend = (ns) => { spend(ns * 1.15) }
    const { code, stdout } = await host.run(...FAST, '--baseline', 'before', '--fail-on', 'regressed', '--json', '-')
    expect(code).toBe(0)
    expect(reportOf(stdout).controls.fixedChange?.ratio).toBeCloseTo(1.15, 2)
  })

  it('of other conditions are refused, or compared in brackets', { timeout: 30_000 }, async () => {
    const host = hostWith(two)
    await host.run(...FAST, '--save-baseline', 'before')
    host.node = 'v22.0.0'
    const refused = await host.run(...FAST, '--baseline', 'before')
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('behaviours-bench: cannot compare with before: node is v22.0.0, was v20.0.0 (--allow-mismatch')
    const allowed = await host.run(...FAST, '--baseline', 'before', '--allow-mismatch', '--save-baseline', 'after')
    expect(allowed.stdout).toContain('(no change)')
    expect((await host.run('--compare', 'before', 'after')).code).toBe(2)
    expect((await host.run('--compare', 'before', 'after', '--allow-mismatch')).stdout).toContain('(no change)')
    expect((await host.run('--compare', 'before', 'after', '--allow-mismatch', '--html', '-')).stdout).toContain('Verdicts are in brackets')
  })
})

describe('claims', () => {
  const claims = [
    { where: { variant: 'fast' }, axis: 'size', slope: [0.9, 1.1] },
    { where: { variant: 'fast' }, to: { variant: 'slow' }, ratio: [0, 0.6] },
    { where: { variant: 'fast' }, bytes: 0 }
  ]

  it('that hold are counted', async () => {
    const { code, stdout } = await hostWith(two, () => ({ claims })).run(...FAST, '--fail-on', 'claims')
    expect(code).toBe(0)
    expect(stdout).toContain('claims: 7 of 7 held\n')
  })

  it('that are broken are printed, and fail when that is asked for', async () => {
    const { code, stdout, stderr } = await hostWith({ slow: 60_000, fast: 50_000 }, () => ({ claims })).run(...FAST, '--fail-on', 'claims,inconclusive')
    expect(code).toBe(1)
    expect(stdout).toContain('claim broken: ratio to variant=slow of size=1 variant=fast is 0.833 (0.833 to 0.833), claimed 0 to 0.6\n')
    expect(stderr).toContain('broken claim: ratio of {"size":1,"variant":"fast"}\n')
    expect(stdout).toContain('claims: 4 of 7 held\n')
  })
})

describe('exit code 2, one line, and nothing runs', () => {
  it.each<[string, string[], RegExp]>([
    ['an unknown flag', ['--fast'], /Unknown option '--fast'/],
    ['a flag without its value', ['--json'], /--json/],
    ['a broken expression', ['--filter', '('], /--filter must be a regular expression, received "\("/],
    ['a filter that no cell matches', ['--filter', 'nothing'], /no cell matches/],
    ['an axis that no cell has', ['--where', 'colour=1'], /no cell matches/],
    ['a broken condition', ['--where', 'size'], /--where must be AXIS=A..B or AXIS=v,w/],
    ['a broken range', ['--where', 'size=a..b'], /--where must be a number/],
    ['half a process', ['--processes', '1.5'], /--processes must be a whole number of at least 1/],
    ['no rounds', ['--rounds', '0'], /--rounds must be a whole number of at least 1, received "0"/],
    ['a time that is none', ['--min-time', 'long'], /--min-time must be a number of at least 0/],
    ['an executor that is none', ['--executor', 'mitata'], /--executor must be benny or builtin/],
    ['a noise that is none', ['--noise', 'much'], /--noise must be a number/],
    ['a condition to fail on that is none', ['--fail-on', 'improved'], /--fail-on must be inconclusive or claims/],
    ['a baseline that is not there', ['--baseline', 'nobody'], /there is no baseline nobody; no baselines are saved/],
    ['a name that is no baseline', ['--save-baseline', '../up'], /the name of a baseline must match/],
    ['one saved result', ['--compare', 'alone'], /--compare needs two saved results at least/],
    ['a saved result that is not there', ['--compare', 'a', 'b'], /there is no baseline a/],
    ['a file that is not there', ['--compare', 'a.json', 'b.json'], /there is no file a.json/],
    ['files for several comparisons', ['--compare', 'a', 'b', 'c', '--csv', 'x.csv'], /for two saved results only/],
    ['two formats for one output', ['--csv', '-', '--json', '-'], /only one format/],
    ['a file that cannot be written', ['--json', 'no/such/folder.json'], /cannot write no\/such\/folder.json/],
    ['too little time', ['--max-time', '1'], /--max-time is too short: 9 cells need \d+ s at least/],
    ['a bench file that is not there', ['nobody.bench.js'], /there is no file nobody.bench.js/],
    ['a build that is not there', ['--against', 'nowhere'], /--against must be a folder with a package.json/]
  ])('for %s', async (_, args, message) => {
    const host = hostWith(two)
    host.onTask = () => { throw new Error('ran') }
    const { code, stdout, stderr } = await host.run(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^behaviours-bench: [^\n]+\n$/)
    expect(stderr).toMatch(message)
  })

  it.each([
    ['--executor benny', ['--executor', 'benny'], 'npm install --save-dev benny@^3.7.1'],
    ['--html', ['--html', 'x.html'], 'npm install --save-dev d3-scale@^4.0.2 d3-shape@^3.2.0'],
    ['a TypeScript file', ['typed.bench.ts'], 'npm install --save-dev tsx@^4.0.0']
  ])('for %s without what it needs, with the command that installs it', async (_, args, command) => {
    const host = hostWith(two)
    host.installed.clear()
    writeFileSync(join(host.cwd, 'typed.bench.ts'), '')
    const { code, stderr } = await host.run(...args)
    expect(code).toBe(2)
    expect(stderr).toContain(command)
  })

  it.each([
    ['no JSON', '{', /it is no JSON/],
    ['another schema', '{"schema":"behaviours-bench/2"}', /its schema must be behaviours-bench\/1, received "behaviours-bench\/2"/],
    ['no report', '{"schema":"behaviours-bench/1"}', /report.startedAt must be a string, received undefined/]
  ])('for a baseline that is %s', async (_, text, message) => {
    const host = hostWith(two)
    mkdirSync(join(host.cwd, '.bench'))
    writeFileSync(join(host.cwd, '.bench', 'odd.json'), text)
    const { code, stderr } = await host.run('--baseline', 'odd')
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })
})

describe('what needs no cells', () => {
  it('--help and --version', async () => {
    const host = hostWith(two)
    expect(await host.run('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('--save-baseline NAME') as string })
    expect(await host.run('--version')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^libp2p-behaviours@\d/) as string })
  })
})

describe('files', () => {
  it('are written in every format at once', async () => {
    const host = hostWith(two)
    const formats = ['json', 'csv', 'markdown', 'bmf', 'gha']
    const { code } = await host.run('--quick', ...FAST, ...formats.flatMap(format => [`--${format}`, `out.${format}`]))
    expect(code).toBe(0)
    for (const format of formats) {
      expect(readFileSync(join(host.cwd, `out.${format}`), 'utf8')).toContain('sample')
    }
  })
})

describe('another build in the same run', () => {
  it('is an axis whose value `against` is the baseline of `this`', async () => {
    const host = hostWith(two)
    mkdirSync(join(host.cwd, 'other'))
    writeFileSync(join(host.cwd, 'other', 'package.json'), '{"name":"other"}')
    const seen = new Set<string | undefined>()
    host.onTask = ({ against }) => { seen.add(against) }
    const { stdout } = await host.run('--quick', ...FAST, '--where', 'size=1', '--against', 'other', '--json', '-')
    const { results } = reportOf(stdout)
    expect(results.map(({ id }) => id)).toEqual(['slow', 'fast'].flatMap(variant => ['this', 'against'].map(build => `sample/size=1/variant=${variant}/build=${build}`)))
    expect(results[2]).toMatchObject({
      params: { size: 1, variant: 'fast', build: 'this' },
      baseline: { id: 'sample/size=1/variant=fast/build=against', ratio: expect.closeTo(1, 9) as number },
      others: [{ id: 'sample/size=1/variant=slow/build=this', ratio: expect.closeTo(0.5, 9) as number }]
    })
    expect([...seen].map(url => url?.endsWith('/other/'))).toEqual(expect.arrayContaining([undefined, true]))
  })
})

describe('the same code, and a planted slowdown, on a noisy machine', () => {
  it('gives hardly a false verdict, and the slowdown is found', async () => {
    const host = hostWith({ base: 50_000, same: 50_000, slower: 55_000 })
    host.spread = { processes: 0.15, rounds: 0.015 }
    const { stdout } = await host.run(...FAST, '--json', '-')
    const verdicts = (variant: string) => reportOf(stdout).results.flatMap(result =>
      result.params['variant'] === variant && 'baseline' in result ? result.baseline.verdict : [])
    expect(verdicts('slower')).toEqual(['regressed', 'regressed', 'regressed'])
    expect(verdicts('same').filter(verdict => verdict === 'regressed' || verdict === 'improved')).toEqual([])
  })
})
