/** An `AbortSignal` that costs nothing until somebody asks for it. */
export class LazySignal {
  #controller: AbortController | undefined
  #end: { readonly reason: unknown } | undefined

  /** The signal; aborted already if {@link abort} came first. */
  get signal (): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#end !== undefined) {
        this.#controller.abort(this.#end.reason)
      }
    }
    return this.#controller.signal
  }

  /** Whether {@link abort} was called. */
  get isOver (): boolean {
    return this.#end !== undefined
  }

  /** Aborts; only the first call has an effect. */
  abort (reason: unknown): void {
    this.#end ??= { reason }
    this.#controller?.abort(this.#end.reason)
  }
}
