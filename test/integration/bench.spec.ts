import { execFile, execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Measured, Report } from 'libp2p-behaviours/bench'

const root = fileURLToPath(new URL('../..', import.meta.url))
const bin = join(root, 'dist/bench/bin.js')

interface Ended { code: number, stdout: string, stderr: string }

async function run (cwd: string, command: string, ...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd, env: { ...process.env, NO_COLOR: '1' } }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : NaN, stdout, stderr })
    })
  })
}

/** One process, one round, one short sample. */
const SHORT = ['--processes', '1', '--rounds', '1', '--samples', '1', '--min-time', '5', '--warm-up', '10']

/** Cells that misbehave, each in its own way. */
const ODD = `
import { matrix } from 'libp2p-behaviours/bench'

export default matrix({
  name: 'odd',
  axes: { how: ['plain', 'async', 'hangs', 'throws', 'lies', 'exits', 'dies', 'prints'] },
  setup: ({ how }) => how,
  run (how, iterations) {
    switch (how) {
      case 'hangs': for (;;) {}
      case 'throws': throw new TypeError('thrown')
      case 'exits': process.exit(3)
      case 'dies': process.kill(process.pid, 'SIGKILL')
      case 'prints': console.log('printed')
    }
    let sum = 0
    for (let left = iterations; left > 0; left--) {
      sum += Math.sqrt(left) > 0 ? 1 : 0
    }
    return how === 'async' ? Promise.resolve(sum) : sum
  },
  verify: (how, { iterations, checksum }) => how !== 'lies' && checksum === iterations
})
`

describe('behaviours-bench', { timeout: 240_000 }, () => {
  let project = ''

  beforeAll(() => {
    project = mkdtempSync(join(tmpdir(), 'bench-project-'))
    mkdirSync(join(project, 'benches'))
    mkdirSync(join(project, 'node_modules'))
    symlinkSync(root, join(project, 'node_modules', 'libp2p-behaviours'), 'dir')
    writeFileSync(join(project, 'package.json'), '{"type":"module"}')
    writeFileSync(join(project, 'benches', 'odd.bench.js'), ODD)
  })

  afterAll(() => {
    rmSync(project, { recursive: true })
  })

  /** Runs on the cells of {@link ODD}. */
  const bench = async (...args: string[]) => run(project, process.execPath, bin, ...args)

  it.each(['benny', 'builtin'])('measures with %s', async (executor) => {
    const { code, stdout } = await bench('--quick', '--executor', executor, '--filter', 'plain|async', '--json', '-')
    expect(code).toBe(0)
    const report = JSON.parse(stdout) as Report
    expect(report.environment.executor).toMatch(executor === 'benny' ? /^benny@\d/ : /^builtin$/)
    expect(report.environment.seeds).toEqual([1, 2, 3])
    expect(report.controls.fixed.mid).toBeGreaterThan(0)
    expect(report.controls.twin).toBeDefined()
    expect(report.results.map(({ id }) => id)).toEqual(['odd/how=plain', 'odd/how=async'])
    for (const { samples, rounds, low, mid, high } of report.results as Measured[]) {
      expect(samples).toHaveLength(3)
      expect(rounds.map(({ seed, round }) => [seed, round])).toEqual([[1, 1], [2, 1], [3, 1]])
      expect(low <= mid && mid <= high && low > 0).toBe(true)
    }
    expect((report.results[1] as Measured).notes).toContain('async')
    expect(stdout).not.toContain(project)
  })

  it('fails cells that hang, throw, lie, exit or kill their process, and measures the others', async () => {
    const { code, stdout } = await bench(...SHORT, '--cell-timeout', '5', '--json', '-')
    expect(code).toBe(1)
    expect((JSON.parse(stdout) as Report).results.map(result => 'error' in result ? result.error : 'measured')).toEqual([
      'measured',
      'measured',
      { stage: 'timeout', name: 'TimeoutError', message: 'not done after 5 s' },
      { stage: 'run', name: 'TypeError', message: 'thrown' },
      { stage: 'verify', name: 'Error', message: expect.stringContaining('the work was not done') as string },
      { stage: 'run', name: 'Error', message: 'the worker ended without a result, exit code 3' },
      { stage: 'run', name: 'Error', message: 'the process ended with SIGKILL' },
      'measured'
    ])
  })

  it('--check exits 1 when a cell does not prove its work', async () => {
    expect(await bench('--check', '--filter', 'plain|prints')).toEqual({ code: 0, stdout: '2 of 2 cells did their work\n', stderr: '' })
    expect(await bench('--check', '--filter', 'lies')).toMatchObject({ code: 1 })
  })

  it('Ctrl-C writes what is there, ends all processes and exits 130', async () => {
    const child = spawn(process.execPath, [bin, '--filter', 'plain', '--csv', 'cut.csv'], { cwd: project, stdio: ['ignore', 'ignore', 'pipe'] })
    await new Promise<void>((resolve) => {
      child.stderr.on('data', (text: Buffer) => { if (text.includes('round 1, cell 1')) { resolve() } })
    })
    child.kill('SIGINT')
    expect(await new Promise(resolve => child.once('exit', resolve))).toBe(130)
    expect(readFileSync(join(project, 'cut.csv'), 'utf8')).toContain('odd/how=plain')
  })

  it('runs another build beside this one', async () => {
    for (const [build, answer] of [['one', 1], ['two', 2]] as const) {
      const folder = join(project, build === 'one' ? 'node_modules/subject' : 'other')
      mkdirSync(folder)
      writeFileSync(join(folder, 'package.json'), '{"name":"subject","type":"module","exports":"./index.js"}')
      writeFileSync(join(folder, 'index.js'), `export const answer = ${answer}`)
    }
    writeFileSync(join(project, 'subject.bench.js'), `
      import { matrix } from 'libp2p-behaviours/bench'
      import { answer } from 'subject'
      export default matrix({ name: 'subject', axes: { size: [1] }, setup: () => answer, run: (_, n) => n, verify: state => { throw new Error('this is ' + state) } })
    `)
    const { stdout } = await bench('subject.bench.js', '--check', '--against', 'other')
    expect(stdout).toContain('subject/size=1/build=this failed in verify: Error: this is 1\n')
    expect(stdout).toContain('subject/size=1/build=against failed in verify: Error: this is 2\n')
  })

  it.each([
    ['exports no matrix', 'export default 1', /its default export must be a matrix/],
    ['does not parse', 'export default (', /Unexpected/],
    ['throws', 'throw new Error("broken")', /broken/]
  ])('refuses a file that %s, with exit code 2', async (_, text, message) => {
    writeFileSync(join(project, 'bad.bench.js'), text)
    const { code, stdout, stderr } = await bench('bad.bench.js', '--list')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})

/** A handler of somebody else. */
const OWN = `
import { PENDING } from 'libp2p-behaviours/connection'

export class Echo {
  #waiting = []
  listenProtocols () { return ['/echo/1'] }
  onConnectionEvent () {}
  onBehaviourEvent (event) { this.#waiting.push(event) }
  poll () { return this.#waiting.length === 0 ? PENDING : { type: 'notify-behaviour', event: this.#waiting.shift() } }
}
`

const OWN_BENCH = `import { matrix } from 'libp2p-behaviours/bench'
import { ScriptedConnection } from 'libp2p-behaviours/testing'
import { Echo } from '../own.js'
const say = (test, event) => { test.connection.onBehaviourEvent(event); test.drive(); return test.outputs.splice(0).length }
export default matrix({
  name: 'own', axes: { size: [10, 1000] },
  setup: ({ size }) => ({ test: new ScriptedConnection(new Echo()), event: 'x'.repeat(size) }),
  run: ({ test, event }, times) => { let told = 0; while (times-- > 0) { told += say(test, event) } return told },
  verify: (_, { iterations, checksum }) => checksum === iterations
})
`

describe('an outside project', { timeout: 240_000 }, () => {
  it('benches its own behaviour with ten lines and the packed package, without benny', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bench-outside-'))
    try {
      const installed = join(folder, 'node_modules/libp2p-behaviours')
      mkdirSync(installed, { recursive: true })
      mkdirSync(join(folder, 'benches'))
      mkdirSync(join(folder, 'node_modules/.bin'))
      const packed = execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], { cwd: root, encoding: 'utf8' }).trim()
      execFileSync('tar', ['-xzf', join(folder, packed), '-C', installed, '--strip-components=1'])
      chmodSync(join(installed, 'dist/bench/bin.js'), 0o755)
      symlinkSync('../libp2p-behaviours/dist/bench/bin.js', join(folder, 'node_modules/.bin/behaviours-bench'))
      writeFileSync(join(folder, 'package.json'), '{"name":"outside","type":"module"}')
      writeFileSync(join(folder, 'own.js'), OWN)
      writeFileSync(join(folder, 'benches/own.bench.js'), OWN_BENCH)
      const { code, stdout, stderr } = await run(folder, 'npx', '--no-install', 'behaviours-bench', ...SHORT)
      expect(code).toBe(0)
      expect(stdout).toMatch(/^own\nsize \| .*mid/)
      expect(stderr).toContain('npm install --save-dev benny@')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('npm run bench', { timeout: 240_000 }, () => {
  const bench = async (...args: string[]) => run(root, process.execPath, '--import', 'tsx', 'benches/main.ts', ...args)

  it('lists the cells of all matrices', async () => {
    const { code, stdout, stderr } = await bench('--list')
    const ids = stdout.trimEnd().split('\n')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const counts = {
      'connection-poll': 14 * 3 + 5 * 3, 'executor-schedule': 2,
      'negotiation-pair': 5 * 2, 'negotiation-refusals': 4 * 2, 'negotiation-sans-io': 3 * 2, 'negotiation-streams': 2 * 3,
      // Per transport: ours and stock at 8 places, the muxer and lazy streams at 3.
      'node-streams': 2 * (8 * 2 + 3 * 2), 'node-requests': 2 * 2 * 3,
      'protocol-diff': 5 * 7 - 2, 'protocol-diff-changes': 4 * 2 * 2, 'protocol-diff-connections': 2 * 4,
      'subscriptions-add-remove': 3 * 4, 'subscriptions-dispatch': 4 * 2, 'subscriptions-size': 6 * 3,
      'subscriptions-filtered': 3 * 2, 'when-all': 4 * 2
    }
    for (const [name, count] of Object.entries(counts)) {
      expect(ids.filter(id => id.startsWith(`${name}/`))).toHaveLength(count)
    }
    expect(ids).toHaveLength(Object.values(counts).reduce((sum, count) => sum + count))
    expect(ids).toContain('connection-poll/behaviours=5/iterations=1000/protocols=200/variant=one-woke')
  })

  it('all cells prove their work', async () => {
    const { stdout: list } = await bench('--list')
    const cells = list.trimEnd().split('\n').length
    const { code, stdout } = await bench('--check')
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${cells} of ${cells} cells did their work\n` })
  })
})
