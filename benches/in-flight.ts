/**
 * Does something so often, and keeps so much of it under way.
 *
 * @param start - begins one, and calls `done` when it is over
 * @returns how much was done
 */
export async function inFlight (count: number, iterations: number, start: (done: () => void) => void): Promise<number> {
  return await new Promise((resolve) => {
    let begun = 0
    let over = 0
    const begin = (): void => {
      if (begun < iterations) {
        begun++
        start(done)
      }
    }
    const done = (): void => {
      over++
      if (over === iterations) {
        resolve(over)
      } else {
        begin()
      }
    }
    for (let left = count; left > 0; left--) {
      begin()
    }
  })
}
