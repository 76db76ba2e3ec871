import type { StreamHandler } from '@libp2p/interface'
import type { Registrar } from '@libp2p/interface-internal'

type Method = (...args: readonly unknown[]) => Promise<unknown>

/**
 * The names that somebody else than we registered, one look-up each. The registrar itself throws for a name that it does not
 * have, with a stack trace, which a peer that proposes such names could make the node pay for; and it has no event for what
 * changes, as the one of the peer store comes later, or never. So its two methods that change names are watched: own
 * properties of that one registrar, which call what was there before. Names are read anew at the first question after a change.
 *
 * Where the watch cannot be put, or somebody has taken it off, every question reads the registrar.
 */
export class RegistrarNames {
  readonly #registrar: Registrar
  readonly #isOurs: (handler: StreamHandler) => boolean
  readonly #handle: Method
  readonly #unhandle: Method
  #names: ReadonlySet<string> | undefined

  /**
   * @param registrar - of the node
   * @param isOurs - whether an entry with this handler is one of ours
   */
  constructor (registrar: Registrar, isOurs: (handler: StreamHandler) => boolean) {
    this.#registrar = registrar
    this.#isOurs = isOurs
    this.#handle = this.#watch('handle')
    this.#unhandle = this.#watch('unhandle')
  }

  /** All of them, in the order of the registrar; the same set until one changes. */
  get all (): ReadonlySet<string> {
    if (this.#names === undefined || !this.#isWatched()) {
      this.#names = new Set(this.#registrar.getProtocols().filter(name => this.#isForeign(name)))
    }
    return this.#names
  }

  /** Whether `protocol` is one of them now. */
  has (protocol: string): boolean {
    return this.#isWatched() ? this.all.has(protocol) : this.#isForeign(protocol)
  }

  #isWatched (): boolean {
    return Reflect.get(this.#registrar, 'handle') === this.#handle && Reflect.get(this.#registrar, 'unhandle') === this.#unhandle
  }

  /** A registrar of another make may take the name only when its promise settles, so both moments count. */
  #watch (method: 'handle' | 'unhandle'): Method {
    const registrar = this.#registrar
    const original = Reflect.get(registrar, method) as Method
    const changed = (): void => { this.#names = undefined }
    const watching: Method = async (...args) => {
      try {
        const settled = Reflect.apply(original, registrar, args)
        changed()
        return await settled
      } finally {
        changed()
      }
    }
    Reflect.set(registrar, method, watching)
    return watching
  }

  #isForeign (protocol: string): boolean {
    try {
      return !this.#isOurs(this.#registrar.getHandler(protocol).handler)
    } catch {
      // The registrar throws for names that it does not have.
      return false
    }
  }
}
