import { ProtocolsNotice } from '../protocols/protocols-change.ts'
import type { ConnectionNews } from '../handler/connection-handler.ts'

const SIDES = ['local-protocols-change', 'remote-protocols-change'] as const

/**
 * What a handler was not told while it was off, so that it can catch up: of the changes only the difference, as S3.15 has
 * it for every handler, Added before Removed.
 */
export class MissedNews {
  /** Bounded by the names of the connection: a name that came and went is forgotten. */
  readonly #changes = {
    'local-protocols-change': new Map<string, 'added' | 'removed'>(),
    'remote-protocols-change': new Map<string, 'added' | 'removed'>()
  }

  #address: ConnectionNews | undefined

  /** The handler does not hear of `news`. */
  note (news: ConnectionNews): void {
    if (news.type === 'address-change') {
      this.#address = news
      return
    }
    const changes = this.#changes[news.type]
    const { type, protocols } = news.change
    for (const protocol of protocols) {
      const before = changes.get(protocol)
      if (before === undefined) {
        changes.set(protocol, type)
      } else if (before !== type) {
        changes.delete(protocol)
      }
    }
  }

  /** Tells all that was missed, once. */
  tell (hear: (news: ConnectionNews) => void): void {
    for (const side of SIDES) {
      const changes = [...this.#changes[side]]
      this.#changes[side].clear()
      for (const type of ['added', 'removed'] as const) {
        const names = changes.flatMap(([name, change]) => change === type ? [name] : [])
        if (names.length > 0) {
          const notice = new ProtocolsNotice(type, names)
          hear({ type: side, change: notice.change })
          notice.end()
        }
      }
    }
    const address = this.#address
    this.#address = undefined
    if (address !== undefined) {
      hear(address)
    }
  }
}
