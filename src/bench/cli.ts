/**
 * What `behaviours-bench` does. Never rejects.
 *
 * @param argv - the arguments of the command line, without the program
 * @param files - bench files, paths or file URLs, when the arguments name none; none for `benches/*.bench.{ts,js}`
 * @returns the exit code: 0 passed, 1 a cell failed or `--fail-on` holds, 2 usage or conditions, 130 interrupted
 */
export async function main (argv: readonly string[], files: readonly string[] = []): Promise<number> {
  // Only here: each of the many isolates of a run imports this entry for `matrix`, and would load the whole runner for it.
  const [{ runCommand }, { nodeHost }] = await Promise.all([import('./command.ts'), import('./node-host.ts')])
  return await runCommand(argv, files, nodeHost())
}
