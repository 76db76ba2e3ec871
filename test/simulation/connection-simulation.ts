/** The guarantees of SPEC 10 on pairs of connections, under scripts of what handlers, hosts, muxers and links may do. */

import { connectionPair } from '../../src/testing/index.ts'
import { LIMITS, SimulatedEnd } from './simulated-end.ts'
import { THROWERS, drawScript, showScript } from './script.ts'
import type { BrokenScript, ConnectionPair, Simulation } from '../../src/testing/index.ts'
import type { Step } from './script.ts'
import type { Thrower } from './simulated-handler.ts'

const LATENCIES_MS = [0, 5] as const
const CHUNKS = [[Infinity], [1], [3, 40]] as const
const IDLE_TIMEOUTS_MS = [0, 1, 100, Infinity, Infinity] as const

/** For `simulate` of the test kit. */
export const connectionSimulation: Simulation<Step> = {
  draw: drawScript,
  play: script => { new World(script[0]?.what === 'link' ? script[0] : undefined).play(script) }
}

/** What to do about a broken script. */
export function explain ({ seed, script, error }: BrokenScript<Step>): string {
  return `${error instanceof Error ? error.message : String(error)}\nnpm run simulate -- --count 1 --seed ${seed}\n${showScript(script)}`
}

/** A pair, with a model of each end. */
class World {
  readonly #dialer: SimulatedEnd
  readonly #listener: SimulatedEnd
  readonly #pair: ConnectionPair
  readonly #broken: string[] = []
  #ids = 0

  constructor (link: Step | undefined) {
    const kind = link?.amount ?? 0
    const idleTimeoutMs = at(IDLE_TIMEOUTS_MS, kind)
    const nextId = (): number => this.#ids++
    const broken = (what: string): void => { this.#broken.push(what) }
    this.#dialer = new SimulatedEnd('dialer', idleTimeoutMs, nextId, broken)
    this.#listener = new SimulatedEnd('listener', idleTimeoutMs, nextId, broken)
    this.#pair = connectionPair({
      dialer: this.#dialer.handler, listener: this.#listener.handler,
      init: { ...LIMITS, idleTimeoutMs }, latencyMs: at(LATENCIES_MS, kind), chunkSizes: at(CHUNKS, kind)
    })
    this.#dialer.meet(this.#pair.dialer, this.#listener)
    this.#listener.meet(this.#pair.listener, this.#dialer)
  }

  play (script: readonly Step[]): void {
    for (const step of script) {
      this.#act(step)
      this.#settle(step.what === 'wait' ? step.amount : 0)
    }
    this.#dialer.pair.connection.close()
    this.#settle(LIMITS.closeTimeoutMs)
    this.#listener.pair.connection.close()
    this.#settle(LIMITS.closeTimeoutMs)
    for (const end of [this.#dialer, this.#listener]) {
      end.pair.resume()
    }
    this.#settle(1000)
    this.#dialer.checkEnd()
    this.#listener.checkEnd()
    this.#report()
  }

  #settle (durationMs: number): void {
    this.#pair.drive(durationMs)
    this.#dialer.check(this.#pair.clock.now)
    this.#listener.check(this.#pair.clock.now)
    this.#report()
  }

  #report (): void {
    const [first] = this.#broken
    if (first !== undefined) {
      throw new Error(first)
    }
  }

  #act ({ what, end: name, part: key, names, amount }: Step): void {
    const end = name === 'dialer' ? this.#dialer : this.#listener
    const { connection } = end.pair
    const part = end.parts.in(key)
    const stream = part.streams[amount % Math.max(1, part.streams.length)]
    switch (what) {
      case 'request':
        for (let left = 1 + amount % 4; left > 0; left--) {
          part.request(names, 5 + amount)
        }
        break
      case 'request lazily':
        part.requestLazily(names.slice(0, amount % 5 === 0 ? 2 : 1), 5 + amount)
        break
      case 'request later':
        part.request(names, 5 + amount, 'later')
        break
      case 'request broken':
        part.request(names, 5 + amount, 'broken')
        break
      case 'request from host':
        end.requestForHost(names, amount, this.#pair.clock.now)
        break
      case 'cancel':
        part.push({ type: 'cancel-outbound-request', token: 'any' })
        break
      case 'list':
        part.listing = names
        part.wake()
        break
      case 'keep alive':
        part.isKeepAlive = amount % 2 === 0
        part.wake()
        break
      case 'emit':
        part.dawdles = amount % 3
        part.push(...Array.from({ length: amount % 4 }, () => ({ type: 'notify-behaviour', event: this.#ids++ } as const)))
        break
      case 'flood':
        end.flood(key, Array.from({ length: 20 }, () => this.#ids++))
        break
      case 'tell':
        for (let left = amount % 7; left > 0; left--) {
          end.tell(key, this.#ids++)
        }
        break
      case 'report':
        part.push({ type: 'report-remote-protocols', change: at(['added', 'removed', 'replaced'], amount), protocols: names })
        break
      case 'identify':
        end.identify(names, this.#pair.clock.now)
        break
      case 'address':
        connection.handleAddressChange(amount)
        break
      case 'send':
        if (stream !== undefined && !stream.isClosed && stream.resetBy === undefined) {
          try {
            stream.send(Uint8Array.of(amount))
          } catch {
            // This side has ended already.
          }
        }
        break
      case 'end stream':
        stream?.end()
        break
      case 'reset stream':
        stream?.reset(new Error('reset by a handler'))
        break
      case 'throw':
        end.throwIn(key, at(THROWERS, amount))
        break
      case 'stall':
        end.pair.stall()
        break
      case 'resume':
        end.pair.resume(at(['oldest-first', 'newest-first'], amount))
        break
      case 'refuse':
        end.pair.isRefusing = amount % 2 === 0
        break
      case 'open raw':
        for (let left = 1 + amount % 6; left > 0; left--) {
          end.pair.openRaw()
        }
        break
      case 'send frames':
        end.sendFrames(amount % 12, name === 'dialer' ? this.#listener : this.#dialer)
        break
      case 'add part':
        end.parts.later(key, whenOf(amount), () => { end.parts.add(key, names, amount % 3 === 0) })
        break
      case 'remove part':
        end.parts.later(key, whenOf(amount), () => { end.parts.remove(key, amount % 4 === 3) })
        break
      case 'switch part':
        end.parts.later(key, whenOf(amount), () => { end.parts.switch() })
        break
      case 'close':
        connection.close()
        break
      case 'abort':
        connection.abort(new Error('aborted'))
        break
      case 'cut':
        connection.handleMuxerError(new Error('cut'))
        break
      case 'wait':
      case 'link':
    }
  }
}

/** Half of the changes come at once, the others out of a callback of a part. */
function whenOf (amount: number): { readonly isOwn: boolean, readonly method: Thrower } | undefined {
  return amount < 20 ? undefined : { isOwn: amount % 2 === 0, method: at(THROWERS, amount) }
}

function at<Value> (values: readonly Value[], index: number): Value {
  return values[index % values.length] as Value
}
