import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

/** Inside of the package, whose name the suites import. */
const FOLDER = fileURLToPath(new URL('../.bench/suites/', import.meta.url))

/**
 * Compiles suites once. Every isolate would compile them again, which takes longer than a quick measurement.
 *
 * @param files - TypeScript files of different names
 * @returns the files to run
 */
export function compiled (files: readonly string[]): string[] {
  buildSync({
    entryPoints: [...files],
    outdir: FOLDER,
    // Flat, wherever they come from.
    entryNames: '[name]',
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // A suite may import a file for what it does.
    ignoreAnnotations: true,
    logLevel: 'warning'
  })
  return files.map(file => `${FOLDER}${basename(file).replace(/ts$/, 'js')}`)
}
