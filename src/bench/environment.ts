import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import type { Machine } from './host.ts'
import type { Environment } from './report.ts'

/** What a run knows of itself. */
export type RunConditions = Pick<Environment, 'executor' | 'flags' | 'seeds' | 'orderSeed'>

/** Before the run; the loads are those of now. */
export function environmentOf ({ node, v8, platform, arch }: Machine, conditions: RunConditions, cwd: string): Environment {
  const [cpu] = cpus()
  const load = loadOfLastMinute()
  return {
    node, v8, platform, arch,
    os: `${type()} ${release()}`,
    cpu: cpu?.model ?? 'unknown',
    cores: cpus().length,
    memoryBytes: totalmem(),
    package: packageName(),
    ...conditions,
    loadBefore: load,
    loadAfter: load,
    ...workTree(cwd)
  }
}

/** How many tasks wanted a core. */
export function loadOfLastMinute (): number {
  return loadavg()[0] ?? 0
}

/** Name and version of this package. */
export function packageName (): string {
  const { name, version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { name: string, version: string }
  return `${name}@${version}`
}

function workTree (cwd: string): Pick<Environment, 'commit' | 'dirty'> {
  const commit = git(cwd, 'rev-parse', '--short', 'HEAD')
  return commit === undefined ? {} : { commit, dirty: git(cwd, 'status', '--porcelain') !== '' }
}

/** Undefined without git, or outside a work tree. */
function git (cwd: string, ...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}
