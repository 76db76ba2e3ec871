import { BoundedQueue } from '../core/bounded-queue.ts'
import type { Outlet } from './outlet.ts'

/** What waits for step 1. */
export type Command<FromBehaviour> =
  | { readonly type: 'event', readonly event: FromBehaviour, readonly token: unknown }
  | { readonly type: 'close' }

/** Behaviour events and the wish to close, in the order in which they came (S7.12). */
export class Inbox<FromBehaviour> {
  /** Most events that wait. */
  readonly maxEvents: number
  /** Bounded by the two methods that fill it, and there while anything is in it. */
  #commands: BoundedQueue<Command<FromBehaviour>> | undefined
  #events = 0
  #refused = 0
  #isCloseAsked = false

  /**
   * @param maxEvents - most events that wait
   */
  constructor (maxEvents: number) {
    this.maxEvents = maxEvents
  }

  /** Queues an event; false, and not kept, when there are too many. */
  push (event: FromBehaviour, token: unknown): boolean {
    if (this.#events >= this.maxEvents) {
      this.#refused++
      return false
    }
    this.#events++
    return this.#push({ type: 'event', event, token })
  }

  /** Queues the wish to close; a second one says nothing new. */
  close (): void {
    if (!this.#isCloseAsked) {
      this.#isCloseAsked = true
      this.#push({ type: 'close' })
    }
  }

  /** Tells how many events were not kept. Whoever sent them knows already, by their receipt (S7.11); this is for whoever watches. */
  reportRefused (outlet: Pick<Outlet<unknown, unknown>, 'limitReached'>): void {
    if (this.#refused > 0) {
      outlet.limitReached('maxQueuedBehaviourEvents', this.maxEvents, this.#refused)
      this.#refused = 0
    }
  }

  /** Takes the oldest out. */
  shift (): Command<FromBehaviour> | undefined {
    const command = this.#commands?.shift()
    if (this.#commands?.size === 0) {
      this.#commands = undefined
    }
    if (command?.type === 'event') {
      this.#events--
    }
    return command
  }

  /** Takes out the events that nobody will get (S6.9), oldest first. */
  takeEvents (): readonly FromBehaviour[] {
    const events = [...this.#commands ?? []].flatMap(command => command.type === 'event' ? [command.event] : [])
    this.#commands = undefined
    this.#events = 0
    return Object.freeze(events)
  }

  #push (command: Command<FromBehaviour>): boolean {
    this.#commands ??= new BoundedQueue(Infinity)
    return this.#commands.push(command)
  }
}
