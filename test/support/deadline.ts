/** Waiting in real time for what must happen; a test that waits in vain says for what. */

/** Long enough for a busy machine, short enough to stay below the timeout of a test. */
const PATIENCE_MS = 10_000

/** `promise`, or an error that says what did not happen. */
export async function within<Value> (what: string, promise: PromiseLike<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => { reject(new Error(`${what} did not happen within ${PATIENCE_MS} ms`)) }, PATIENCE_MS)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The next event of `type`, or the next one that `matches`. */
export async function eventOf<Dispatched extends Event> (
  target: EventTarget, type: string, matches: (event: Dispatched) => boolean = () => true
): Promise<Dispatched> {
  return within(`event ${type}`, new Promise((resolve) => {
    const listener = (event: Event): void => {
      if (matches(event as Dispatched)) {
        target.removeEventListener(type, listener)
        resolve(event as Dispatched)
      }
    }
    target.addEventListener(type, listener)
  }))
}

/** Looks again and again until `holds` does: for states of the host that nothing tells of. */
export async function until (what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  while (!await holds()) {
    if (performance.now() > end) {
      throw new Error(`${what} did not become true within ${PATIENCE_MS} ms`)
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
