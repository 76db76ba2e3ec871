import type { Collections, Runtime } from '../../src/bench/runtime.ts'

/** A machine whose time and heap move when a bench says so: `spend` and `allocate`. */
export class VirtualMachine implements Runtime {
  /** What every duration is multiplied with: how slow the machine is now. */
  slowness = 1
  #nowMs = 0
  #heap = 1_000_000
  #garbage = 0
  #watched: Collections | undefined

  now (): number {
    return this.#nowMs
  }

  spend (ns: number): void {
    this.#nowMs += ns * this.slowness / 1e6
  }

  /** @param isKept - otherwise it is garbage at once, and collected when there is a megabyte of it */
  allocate (bytes: number, isKept = false): void {
    this.#heap += bytes
    this.#garbage += isKept ? 0 : bytes
    if (this.#garbage > 1_000_000) {
      this.collect()
    }
  }

  collect (): void {
    if (this.#watched !== undefined) {
      this.#watched = { count: this.#watched.count + 1, freedBytes: this.#watched.freedBytes + this.#garbage }
    }
    this.#heap -= this.#garbage
    this.#garbage = 0
  }

  heapUsed (): number {
    return this.#heap
  }

  watchCollections (): () => Collections {
    this.#watched = { count: 0, freedBytes: 0 }
    return () => {
      const seen = this.#watched ?? { count: 0, freedBytes: 0 }
      this.#watched = undefined
      return seen
    }
  }

  switches (): number {
    return Math.floor(this.#nowMs / 10)
  }
}
