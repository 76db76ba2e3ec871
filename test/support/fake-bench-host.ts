import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builtinExecutor } from '../../src/bench/builtin.ts'
import { runCommand } from '../../src/bench/command.ts'
import { cellId } from '../../src/bench/axes.ts'
import { describeMatrix } from '../../src/bench/description.ts'
import { matrix } from '../../src/bench/matrix.ts'
import { measure } from '../../src/bench/measure.ts'
import { seededRandom } from '../../src/core/seeded-random.ts'
import { normal } from './normal.ts'
import { VirtualMachine } from './virtual-machine.ts'
import type { Host } from '../../src/bench/host.ts'
import type { Matrix } from '../../src/bench/matrix.ts'
import type { Lane } from '../../src/bench/process.ts'
import type { Outcome, Task } from '../../src/bench/task.ts'

/** What a run of {@link FakeBenchHost} printed. */
export interface Printed {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Plays the system for `behaviours-bench`: matrices without files, processes without processes, time that moves when told. */
export class FakeBenchHost {
  /** A folder of its own. */
  readonly cwd: string = mkdtempSync(join(tmpdir(), 'bench-host-'))
  readonly machine = new VirtualMachine()
  readonly installed = new Map([['benny', '3.7.1'], ['d3-scale', '4.0.3'], ['d3-shape', '3.2.1']])
  /** The parts of a version that a run records. */
  node = 'v20.0.0'
  isTerminal = false
  /** How far processes, and rounds of a process, lie apart, as a fraction. */
  spread = { processes: 0, rounds: 0 }
  /** Called before each cell that is measured, with its place in the run. */
  onTask: (task: Task, place: number, interrupt: () => void) => void = () => {}
  readonly #matrices: readonly Matrix[]
  readonly #file: string
  readonly #random = seededRandom(1)
  #place = 0
  readonly #interrupts = new Set<() => void>()

  /** @param makeMatrices - given the machine whose time the benches spend */
  constructor (makeMatrices: (machine: VirtualMachine) => readonly Matrix[]) {
    this.#matrices = [...makeMatrices(this.machine), this.#controls()]
    this.#file = join(this.cwd, 'fake.bench.js')
    writeFileSync(this.#file, '')
  }

  async run (...argv: string[]): Promise<Printed> {
    const printed = { stdout: '', stderr: '' }
    this.#place = 0
    const code = await runCommand(argv, [this.#file], this.#host(printed))
    return { code, ...printed }
  }

  #controls (): Matrix {
    return matrix({
      name: 'control',
      axes: { variant: ['empty', 'fixed'] },
      setup: ({ variant }) => variant === 'empty' ? 10 : 10_000,
      run: (ns, iterations) => {
        this.machine.spend(ns * iterations)
        return iterations
      },
      verify: () => true
    })
  }

  #host (printed: { stdout: string, stderr: string }): Host {
    const output = (stream: 'stdout' | 'stderr') => ({ isTerminal: this.isTerminal, hasColour: this.isTerminal, write: (text: string) => { printed[stream] += text } })
    return {
      cwd: this.cwd,
      stdout: output('stdout'),
      stderr: output('stderr'),
      machine: { node: this.node, v8: '1', platform: 'none', arch: 'none', readsTypeScript: false },
      now: () => this.machine.now(),
      date: () => '2026-01-02T03:04:05.678Z',
      drawSeed: () => 7,
      onInterrupt: (act) => {
        this.#interrupts.add(act)
        return () => { this.#interrupts.delete(act) }
      },
      versionOf: name => this.installed.get(name),
      describe: async file => this.#matrices
        .filter(({ name }) => (name === 'control') === file.endsWith('/controls.js'))
        .map(made => describeMatrix(file, made)),
      startLane: seed => this.#lane(seed)
    }
  }

  #lane (seed: number): Lane {
    const ofProcess = this.spread.processes * normal(seededRandom(seed))
    let isEnded = false
    return {
      measure: async (task): Promise<Outcome> => {
        this.onTask(task, this.#place++, () => { this.#interrupts.forEach((act) => { act() }) })
        if (isEnded) {
          return { type: 'failed', error: { stage: 'aborted', name: 'Error', message: 'interrupted' } }
        }
        this.machine.slowness = Math.exp(ofProcess + this.spread.rounds * normal(this.#random))
        return this.#measure(task)
      },
      end: () => { isEnded = true }
    }
  }

  async #measure (task: Task): Promise<Outcome> {
    const made = this.#matrices.find(({ name }) => name === task.matrix)!
    const cell = made.cells.find(candidate => cellId(made.name, candidate) === task.cell)!
    return measure({ ...task, matrix: made, cell }, builtinExecutor(() => this.machine.now()), this.machine)
  }
}
