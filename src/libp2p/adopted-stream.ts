/** Streams of the host that a connection of the swarm has, and what is put in place of their own methods. */

import type { AbortOptions, Stream } from '@libp2p/interface'
import type { Uint8ArrayList } from 'uint8arraylist'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { SignalOptions } from '../behaviours/call-options.ts'
import type { Listener } from './call-listener.ts'

/** What an adopted stream does, by the names of its methods and a few of ours. */
export interface Adopter {
  /** Whether the stream was agreed for a behaviour. */
  readonly isOfBehaviour: boolean
  addListener (type: string, listener: Listener<Event> | null, options?: boolean | AddEventListenerOptions): void
  removeListener (type: string, listener: Listener<Event> | null | undefined, options?: boolean | EventListenerOptions): void
  dispatch (event: Event): boolean
  ignoreForKeepAlive (): void
  close (options?: AbortOptions): Promise<void>
  closeRead (options?: AbortOptions): Promise<void>
  writeAll (bytes: Uint8Array, options?: SignalOptions): Promise<void>
  chunks (): AsyncGenerator<Uint8Array | Uint8ArrayList, void, undefined>
}

const ADOPTER: unique symbol = Symbol('libp2p-behaviours.stream')

interface Adopted extends Stream {
  readonly [ADOPTER]: Adopter
}

/** Whether a connection of the swarm has `stream`. */
export function isAdopted (stream: Stream): stream is Stream & Adopted {
  return ADOPTER in stream
}

/** Whether `stream` was agreed for a behaviour. */
export function isOfBehaviour (stream: Stream): boolean {
  return isAdopted(stream) && stream[ADOPTER].isOfBehaviour
}

type Adopting = NegotiatedStream & { [ADOPTER]: Adopter }

/**
 * Gives `stream` the methods of `adopter`: shared functions, so that a stream costs no closure, and one by one, as
 * `Object.assign` takes ten times as long, which is more than a negotiation does.
 */
export function adopt (stream: Stream, adopter: Adopter): NegotiatedStream {
  const adopted = stream as Adopting
  adopted.addEventListener = addEventListener
  adopted.removeEventListener = removeEventListener
  adopted.dispatchEvent = dispatchEvent
  adopted.ignoreForKeepAlive = ignoreForKeepAlive
  adopted.close = close
  adopted.closeRead = closeRead
  adopted.write = write
  adopted[Symbol.asyncIterator] = iterate
  adopted[ADOPTER] = adopter
  return adopted
}

function addEventListener (this: Adopted, type: string, listener: Listener<Event> | null, options?: boolean | AddEventListenerOptions): void {
  this[ADOPTER].addListener(type, listener, options)
}

function removeEventListener (this: Adopted, type: string, listener?: Listener<Event> | null, options?: boolean | EventListenerOptions): void {
  this[ADOPTER].removeListener(type, listener, options)
}

function dispatchEvent (this: Adopted, event: Event): boolean {
  return this[ADOPTER].dispatch(event)
}

function ignoreForKeepAlive (this: Adopted): void {
  this[ADOPTER].ignoreForKeepAlive()
}

function close (this: Adopted, options?: AbortOptions): Promise<void> {
  return this[ADOPTER].close(options)
}

function closeRead (this: Adopted, options?: AbortOptions): Promise<void> {
  return this[ADOPTER].closeRead(options)
}

function write (this: Adopted, bytes: Uint8Array, options?: SignalOptions): Promise<void> {
  return this[ADOPTER].writeAll(bytes, options)
}

function iterate (this: Adopted): AsyncGenerator<Uint8Array | Uint8ArrayList, void, undefined> {
  return this[ADOPTER].chunks()
}
