/** Where something runs: a queue, a turn of a machine, the stack of the caller. */
export interface Executor {
  /**
   * Runs `job`, now or later, once. Who hands in the same function each time allocates nothing here.
   *
   * @param job - what it throws is the executor's affair, as the caller may be gone
   */
  execute (job: () => void): void
}

/** Runs each job at once, on the stack of whoever hands it in; what it throws is thrown there. */
export const inlineExecutor: Executor = Object.freeze({
  execute (job: () => void): void {
    job()
  }
})
