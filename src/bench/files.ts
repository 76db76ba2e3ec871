import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { installCommand } from './packages.ts'
import { planCells, select } from './plan.ts'
import type { Host } from './host.ts'
import type { RunCommand } from './options.ts'
import type { PlannedCell } from './plan.ts'

/** Where bench files are when none is named. */
const FOLDER = 'benches'
const USUAL = /\.bench\.[jt]s$/

const TYPESCRIPT = /\.[cm]?tsx?$/

/**
 * The cells that a command asks for.
 *
 * @param files - paths or file URLs; none for `benches/*.bench.{ts,js}`
 * @throws Error with one line for the user when there is none
 */
export async function gatherCells (command: RunCommand, files: readonly string[], host: Host): Promise<PlannedCell[]> {
  const urls = (files.length === 0 ? usualFiles(host.cwd) : files).map(file => urlOf(host.cwd, file))
  if (urls.some(url => TYPESCRIPT.test(url)) && !host.machine.readsTypeScript && host.versionOf('tsx') === undefined) {
    throw new Error(`TypeScript needs a package that is not installed: ${installCommand(['tsx'])}`)
  }
  const matrices = []
  for (const url of urls) {
    matrices.push(...await host.describe(url))
  }
  const cells = select(planCells(matrices, command.against === undefined ? undefined : buildUrl(host.cwd, command.against)), command.selection)
  if (cells.length === 0) {
    throw new RangeError('no cell matches')
  }
  return cells
}

function usualFiles (cwd: string): string[] {
  const folder = join(cwd, FOLDER)
  const files = existsSync(folder) ? readdirSync(folder).filter(file => USUAL.test(file)).sort() : []
  if (files.length === 0) {
    throw new Error(`there are no files ${FOLDER}/*.bench.{ts,js}; name the ones to run`)
  }
  return files.map(file => join(folder, file))
}

function urlOf (cwd: string, file: string): string {
  const url = file.startsWith('file:') ? new URL(file) : pathToFileURL(resolve(cwd, file))
  if (!existsSync(url)) {
    throw new Error(`there is no file ${file}`)
  }
  return url.href
}

function buildUrl (cwd: string, folder: string): string {
  if (!existsSync(resolve(cwd, folder, 'package.json'))) {
    throw new Error(`--against must be a folder with a package.json, received ${folder}`)
  }
  return pathToFileURL(`${resolve(cwd, folder)}/`).href
}
