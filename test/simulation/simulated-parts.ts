import { composeHandlers } from '../../src/handler/compose.ts'
import { ToggledHandler } from '../../src/behaviour/toggled-handler.ts'
import { ClosingHandler, SimulatedHandler } from './simulated-handler.ts'
import type { EstablishedConnection } from '../../src/behaviour/network-behaviour.ts'
import type { AnyHandler, ConnectionEvent } from '../../src/handler/connection-handler.ts'
import type { ComposedHandler } from '../../src/handler/compose.ts'
import type { VirtualStream } from '../../src/testing/index.ts'
import type { Step } from './script.ts'
import type { PlaceLog, SimulatedWorld, Thrower } from './simulated-handler.ts'

/** Where a part is: `left` in the composition itself, `right` in one inside it. */
export type Place = Step['part']

const PLACES = ['left', 'right'] as const

type Composed = ComposedHandler<Record<string, AnyHandler>>

/** What the parts ask their end. */
export interface PartsWorld extends SimulatedWorld {
  /** Whether the connection is open: after that parts have their last word with all others. */
  isOpen (): boolean
  /** Other parts take part than before. */
  changed (): void
}

/** The switch of the real thing, for streams of virtual time, and with an account of what it keeps from its handler. */
class Switch extends ToggledHandler {
  readonly #handler: SimulatedHandler

  constructor (handler: SimulatedHandler) {
    super({ peer: 'peer', id: 'simulated' } as unknown as EstablishedConnection, handler as unknown as AnyHandler)
    this.#handler = handler
  }

  override onConnectionEvent (event: ConnectionEvent<unknown, unknown>): void | PromiseLike<void> {
    if ('stream' in event) {
      const stream = event.stream as VirtualStream
      Object.assign(stream, { abort: (error: Error) => { stream.reset(error) } })
    }
    if (this.#handler.isOff && (event.type === 'fully-negotiated-inbound' || event.type === 'listen-upgrade-error')) {
      this.#handler.upgrading--
    }
    return super.onConnectionEvent(event)
  }
}

/** The parts of one end: they come, go, and are switched off and on. */
export class SimulatedParts {
  /** Everything, for the connection. */
  readonly root: Composed
  /** All handlers that there ever were. */
  readonly all: SimulatedHandler[] = []
  readonly logs: Readonly<Record<Place, PlaceLog>> = { left: { emitted: [], told: [] }, right: { emitted: [], told: [] } }
  readonly #world: PartsWorld
  readonly #last: Record<Place, SimulatedHandler>
  /** Which places are taken. */
  readonly #taken = { left: true, right: true }
  #inner: Composed
  #isInnerIn = true
  #switch: Switch | undefined

  constructor (world: PartsWorld) {
    this.#world = world
    this.#last = { left: this.#make('left', ['/a', '/b'], false), right: this.#make('right', ['/b', '/c'], false) }
    this.#inner = composeHandlers<Record<string, AnyHandler>>({ right: this.#switched(this.#last.right) })
    this.root = composeHandlers<Record<string, AnyHandler>>({ left: this.#last.left, inner: this.#inner })
  }

  /** Who is in `place`, or was there last. */
  in (place: Place): SimulatedHandler {
    return this.#last[place]
  }

  /** Those that take part. */
  get live (): SimulatedHandler[] {
    const live: SimulatedHandler[] = []
    for (const place of PLACES) {
      if (this.#taken[place] && this.#last[place].isLive) {
        live.push(this.#last[place])
      }
    }
    return live
  }

  /** Fills `place`, if it is free; `isPlain`: behind no switch. */
  add (place: Place, names: readonly string[], isPlain: boolean): void {
    if (this.#taken[place]) {
      return
    }
    this.#taken[place] = true
    this.#world.changed()
    const isBare = place === 'left' || isPlain
    const handler = this.#make(place, names, isBare && this.#world.isOpen())
    this.#last[place] = handler
    if (place === 'left') {
      this.root.add('left', handler)
      return
    }
    this.#switch = undefined
    if (!this.#isInnerIn) {
      this.#inner = composeHandlers<Record<string, AnyHandler>>({})
      this.root.add('inner', this.#inner)
      this.#isInnerIn = true
    }
    this.#inner.add('right', isBare ? handler : this.#switched(handler))
  }

  /** Empties `place`; `isWhole`: with the composition that it is in. */
  remove (place: Place, isWhole: boolean): void {
    const isTaken = this.#taken[place]
    this.#taken[place] = false
    if (isTaken && this.#world.isOpen()) {
      this.#last[place].leave()
    }
    this.#world.changed()
    if (place === 'right' && (isWhole || !this.#isInnerIn)) {
      this.#expect(this.root.remove('inner') === this.#isInnerIn)
      this.#isInnerIn = false
    } else {
      this.#expect((place === 'left' ? this.root : this.#inner).remove(place) === isTaken)
    }
  }

  /** Switches the right one off or on, if it has a switch. */
  switch (): void {
    const { right } = this.#last
    if (this.#switch === undefined || !this.#taken.right) {
      return
    }
    right.isOff = !right.isOff
    right.isBehind = !right.isOff
    this.#world.changed()
    if (right.isOff) {
      this.#switch.disable()
    } else {
      this.#switch.enable()
    }
  }

  /** Does it now, or inside the next call of a method of the part in `place` or of the other one. */
  later (place: Place, when: { readonly isOwn: boolean, readonly method: Thrower } | undefined, act: () => void): void {
    if (when === undefined) {
      act()
    } else {
      const part = this.#last[when.isOwn ? place : otherThan(place)]
      part.acts = { method: when.method, act }
      part.wake()
    }
  }

  #make (place: Place, names: readonly string[], isToBeGreeted: boolean): SimulatedHandler {
    const Kind = place === 'left' ? ClosingHandler : SimulatedHandler
    const handler = new Kind(place, names, this.#world, this.logs[place], isToBeGreeted)
    this.all.push(handler)
    return handler
  }

  #switched (handler: SimulatedHandler): AnyHandler {
    this.#switch = new Switch(handler)
    return this.#switch as unknown as AnyHandler
  }

  #expect (holds: boolean): void {
    if (!holds) {
      this.#world.broken('a composition has other parts than it was given (S4.13)')
    }
  }
}

/** The place that is not `place`. */
export function otherThan (place: Place): Place {
  return place === 'left' ? 'right' : 'left'
}
