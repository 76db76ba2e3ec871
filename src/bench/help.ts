/** What `--help` prints. */
export const HELP: string = `behaviours-bench [FILE...]     benches/*.bench.{ts,js} unless files are named

which cells
  --filter RE                  those whose id matches; repeatable, any of them
  --where AXIS=A..B, AXIS=v,w  those with such a value; repeatable, all of them
  --list                       print their ids
  --check                      run each once, verified, untimed
how much (default)
  --quick                      3 processes, 1 round, 1 sample, warm-up 50 ms
  --processes N (5)  --rounds N (6)  --samples N (1)  --min-time MS (50)  --warm-up MS (100)
  --max-time S                 lowers rounds, samples, warm-up, processes until it fits
  --cell-timeout S (30)        gives a cell up
how
  --executor benny|builtin     benny if it is installed
  --against DIR                another build of the package in the same run
  --order-seed N               repeats an order
  --node-flag=FLAG             a further flag of V8; repeatable
  --no-memory                  counts no bytes
compare
  --save-baseline NAME, --baseline NAME, --list-baselines     in .bench/
  --compare A B [C...]         tables of saved results against A; nothing runs
  --allow-mismatch             also across machines, versions and executors
  --noise PCT|auto (2)  --tolerance PCT (5)
  --fail-on LIST               regressed[:PCT], inconclusive, claims
report
  --json --csv --html --markdown --bmf --gha FILE             - is the standard output
  --verbose                    notes, and claims that hold
  --help, --version

exit code: 0 passed, 1 a cell failed or --fail-on holds, 2 usage or conditions, 130 interrupted
`
