import { NetChange } from '../protocols/net-change.ts'
import { ProtocolsNotice } from '../protocols/protocols-change.ts'
import type { ConnectionNews } from '../handler/connection-handler.ts'

const SIDES = ['local-protocols-change', 'remote-protocols-change'] as const

type ProtocolNews = typeof SIDES[number]

/**
 * What a handler was not told while it was off, so that it can catch up: of the changes only the difference, as S3.15 has
 * it for every handler, Added before Removed.
 */
export class MissedNews {
  /** Bounded by the names of the connection. */
  readonly #changes: Record<ProtocolNews, NetChange> = { 'local-protocols-change': new NetChange(), 'remote-protocols-change': new NetChange() }

  #address: ConnectionNews | undefined

  /** The handler does not hear of `news`. */
  note (news: ConnectionNews): void {
    if (news.type === 'address-change') {
      this.#address = news
      return
    }
    this.#changes[news.type].note(news.change.type, news.change.protocols)
  }

  /** Tells all that was missed, once. */
  tell (hear: (news: ConnectionNews) => void): void {
    for (const side of SIDES) {
      const changes = this.#changes[side]
      this.#changes[side] = new NetChange()
      for (const type of ['added', 'removed'] as const) {
        const names = changes.of(type)
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
