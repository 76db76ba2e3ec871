/** A hook that makes a bench file import another build of the package under test: `--against DIR`. */

import { readFileSync } from 'node:fs'
import type { InitializeHook, ResolveHook } from 'node:module'

/** The matrix itself always comes from the build that runs it. */
const RUNNER = 'libp2p-behaviours/bench'

let name = ''
let packageJson = ''

/** @param url - the folder of the other build, with a slash at its end */
export const initialize: InitializeHook<string> = (url) => {
  packageJson = new URL('package.json', url).href
  name = nameIn(readFileSync(new URL(packageJson), 'utf8'))
}

/** Resolves the name of the package as the package itself does, from inside the other folder. */
export const resolve: ResolveHook = (specifier, context, nextResolve) => {
  const isSubject = (specifier === name || specifier.startsWith(`${name}/`)) && specifier !== RUNNER
  return nextResolve(specifier, isSubject ? { ...context, parentURL: packageJson } : context)
}

function nameIn (text: string): string {
  const parsed: unknown = JSON.parse(text)
  return typeof parsed === 'object' && parsed !== null && 'name' in parsed ? String(parsed.name) : ''
}
