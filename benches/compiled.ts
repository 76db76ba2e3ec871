import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

/** Inside of the package, whose name the suites import. */
const FOLDER = fileURLToPath(new URL('../.bench/suites/', import.meta.url))

/** Imported by modules of CommonJS, which a bundle has no `require` for. */
const REQUIRE = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)`

/**
 * Compiles suites once, each with all that it imports in one file. Every isolate would find, read and compile some hundred
 * modules again, which takes longer than a quick measurement.
 *
 * @param files - TypeScript files of different names
 * @param args - of the runner: with `--against` the package stays outside, as it is what the two builds differ by
 * @returns the files to run
 */
export function compiled (files: readonly string[], args: readonly string[]): string[] {
  const isAgainst = args.some(arg => /^--against\b/.test(arg))
  buildSync({
    entryPoints: [...files],
    outdir: FOLDER,
    // Flat, wherever they come from.
    entryNames: '[name]',
    bundle: true,
    ...isAgainst ? { packages: 'external' } : { external: ['libp2p-behaviours/bench'] },
    banner: { js: REQUIRE },
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // A suite may import a file for what it does.
    ignoreAnnotations: true,
    logLevel: 'warning'
  })
  return files.map(file => `${FOLDER}${basename(file).replace(/ts$/, 'js')}`)
}
