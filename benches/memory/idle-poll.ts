import { PENDING, composeHandlers } from 'libp2p-behaviours'
import { Connection } from 'libp2p-behaviours/connection'
import { SpinningHandler } from '../spinning-handler.ts'
import { bytesAllocated } from './heap.ts'

/** What so many polls of a connection allocated, where nothing woke, and where one of its handlers did. */
export interface PollBytes {
  /** In all polls together. */
  readonly idle: number
  readonly oneWoke: number
}

/** Polls before the first measured one: by then the code is compiled, which allocates too. */
const WARM_UP = 200_000

/** A connection with ten handlers of ten names each. The clock is in whole milliseconds: making another number allocates. */
export function bytesOfPolls (polls: number): PollBytes {
  const handlers = Array.from({ length: 10 }, (_, owner) =>
    new SpinningHandler(Object.freeze(Array.from({ length: 10 }, (_, index) => `/memory/${owner}/${index}`))))
  let isWoken = true
  let now = 0
  const connection = new Connection({
    id: 'memory', peer: 'peer', direction: 'outbound',
    handler: composeHandlers(Object.fromEntries(handlers.map((handler, index) => [`handler-${index}`, handler]))),
    muxer: { openStream () {}, cancelOpening () {}, close () {}, abort () {} },
    wake: () => { isWoken = true }
  }, {}, now)
  const poll = (): void => {
    if (connection.poll(now) !== PENDING) {
      throw new Error('the connection had something to tell')
    }
  }
  const drain = (): void => {
    while (isWoken) {
      isWoken = false
      poll()
    }
  }
  const idle = (times: number): void => {
    for (let left = times; left > 0; left--) {
      now++
      poll()
    }
  }
  const spin = (times: number): void => {
    handlers[0]?.spin(times)
    drain()
  }
  drain()
  idle(WARM_UP)
  spin(WARM_UP)
  const before = handlers[0]?.spins ?? NaN
  const bytes = { idle: bytesAllocated(() => { idle(polls) }), oneWoke: bytesAllocated(() => { spin(polls) }) }
  // Five runs of each; see heap.ts.
  if (handlers[0]?.spins !== before + 5 * polls) {
    throw new Error('the connection was not polled as often as it was to be')
  }
  return bytes
}
