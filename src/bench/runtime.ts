/** All that measuring needs of the machine. The worker has the real one; in tests time moves when told. */
export interface Runtime {
  /** Milliseconds of a clock that only goes forward. */
  now (): number
  /** Collects all garbage before it returns. */
  collect (): void
  /** Bytes of the heap of this isolate. */
  heapUsed (): number
  /** Watches collections from now on, until the function it returns is called. */
  watchCollections (): () => Collections
  /** How often the system took the processor away from this process so far. */
  switches (): number
}

/** What was collected in a stretch of time. */
export interface Collections {
  readonly count: number
  readonly freedBytes: number
}
