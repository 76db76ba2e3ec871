import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** Packages that some of the runner needs; whoever wants that installs them. */
export const OPTIONAL_PACKAGES = { benny: '^3.7.1', tsx: '^4.0.0', 'd3-scale': '^4.0.2', 'd3-shape': '^3.2.0' } as const

/** The version of an installed package, as this package would import it; undefined when it is not installed. */
export function versionOf (name: string): string | undefined {
  for (const folder of require.resolve.paths(name) ?? []) {
    const version = versionIn(`${folder}/${name}/package.json`)
    if (version !== undefined) {
      return version
    }
  }
  return undefined
}

/** The command that installs what is missing. */
export function installCommand (names: ReadonlyArray<keyof typeof OPTIONAL_PACKAGES>): string {
  return `npm install --save-dev ${names.map(name => `${name}@${OPTIONAL_PACKAGES[name]}`).join(' ')}`
}

/** The version in a package.json; undefined when there is none. */
export function versionIn (file: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return typeof parsed === 'object' && parsed !== null && 'version' in parsed ? String(parsed.version) : undefined
  } catch {
    return undefined
  }
}
