import { Outbox } from 'libp2p-behaviours'
import { namesOf } from './negotiate.ts'
import { muxerPair, ourPair, stockPair } from './node-pairs.ts'
import type { Stream, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import type {
  ConnectionEvent, ConnectionHandler, HandlerOutput, NetworkBehaviour, Poll, PollContext
} from 'libp2p-behaviours'
import type { Transport } from './node-pairs.ts'

/** Who opens the streams. */
export type Variant = 'ours' | 'lazy' | 'stock' | 'muxer'

/** Two connected nodes, one of which opens streams to the other. */
export interface Exchange {
  /**
   * Opens a stream, sends one byte, gets one back, and closes; so does the other end.
   *
   * @param closed - called when both directions have ended in good order
   */
  open (closed: () => void): void
  /** Streams that the other end has served and seen end in good order. */
  readonly served: number
  stop (): Promise<void>
}

/** Connects two nodes on which so many protocols are registered; streams speak the last one of them. */
export async function exchangeOf (variant: Variant, transport: Transport, protocols: number): Promise<Exchange> {
  const names = namesOf(protocols)
  switch (variant) {
    case 'ours': return await ours(transport, names, false)
    case 'lazy': return await ours(transport, names, true)
    case 'stock': return await stock(transport, names)
    case 'muxer': return await bare(transport)
  }
}

/** More than any cell has in flight; the defaults of a stock node are below that. */
const STREAMS = { maxInboundStreams: 1000, maxOutboundStreams: 1000 }

const BYTE = Uint8Array.of(1)

async function ours (transport: Transport, names: string[], lazy: boolean): Promise<Exchange> {
  const { ends: [dialer, listener], stop } = await ourPair(transport, () => ({ exchange: new ExchangeBehaviour(names, lazy) }))
  const { exchange } = dialer.swarm.behaviours
  const { server } = listener.swarm.behaviours.exchange
  return {
    open: (closed) => { exchange.open(closed) },
    get served () { return server.served },
    stop
  }
}

async function stock (transport: Transport, names: string[]): Promise<Exchange> {
  const server = new Server()
  const { ends: [{ connection }], stop } = await stockPair(transport, async (node) => {
    await node.handle(names, (stream) => { server.serve(stream) }, STREAMS)
  })
  const wanted = names.slice(-1)
  return {
    open: (closed) => {
      connection.newStream(wanted, STREAMS).then((stream) => { new Client(stream, closed).start() }, fail)
    },
    get served () { return server.served },
    stop
  }
}

async function bare (transport: Transport): Promise<Exchange> {
  const server = new Server()
  const { ends: [dialer, listener], stop } = await muxerPair(transport)
  listener.addEventListener('stream', ({ detail: stream }) => { server.serve(stream) })
  return {
    open: (closed) => {
      Promise.resolve(dialer.createStream()).then((stream) => { new Client(stream, closed).start() }, fail)
    },
    get served () { return server.served },
    stop
  }
}

/** What went wrong must not leave the bench waiting for the end of a stream. */
function fail (error: unknown): void {
  queueMicrotask(() => { throw error })
}

/** The dialing end of one stream. */
class Client {
  readonly #stream: Stream
  readonly #closed: () => void

  constructor (stream: Stream, closed: () => void) {
    this.#stream = stream
    this.#closed = closed
  }

  start (): void {
    this.#stream.addEventListener('message', this)
    this.#stream.addEventListener('close', this)
    this.#stream.send(BYTE)
  }

  handleEvent (event: StreamMessageEvent | StreamCloseEvent): void {
    if ('data' in event) {
      this.#stream.close().catch(fail)
    } else if (event.error === undefined) {
      this.#closed()
    } else {
      fail(event.error)
    }
  }
}

/** The listening ends of all streams. */
class Server {
  served = 0

  serve (stream: Stream): void {
    const end = new ServingEnd(this, stream)
    stream.addEventListener('message', end)
    stream.addEventListener('close', end)
  }
}

class ServingEnd {
  readonly #server: Server
  readonly #stream: Stream

  constructor (server: Server, stream: Stream) {
    this.#server = server
    this.#stream = stream
  }

  handleEvent (event: StreamMessageEvent | StreamCloseEvent): void {
    if ('data' in event) {
      this.#stream.send(event.data)
      this.#stream.close().catch(fail)
    } else if (event.error === undefined) {
      this.#server.served++
    } else {
      fail(event.error)
    }
  }
}

/** Serves streams, and opens some when asked to. */
class ExchangeBehaviour implements NetworkBehaviour {
  readonly protocols: readonly string[]
  readonly server = new Server()
  readonly #lazy: boolean
  #handler: ExchangeHandler | undefined

  /**
   * @param lazy - whether to write before the peer agreed
   */
  constructor (protocols: readonly string[], lazy: boolean) {
    this.protocols = protocols
    this.#lazy = lazy
  }

  open (closed: () => void): void {
    this.#handler?.open(closed)
  }

  commitEstablished (): ExchangeHandler {
    this.#handler = new ExchangeHandler(this.protocols, this.#lazy, this.server)
    return this.#handler
  }
}

class ExchangeHandler implements ConnectionHandler<never, never, () => void> {
  readonly #protocols: readonly string[]
  readonly #wanted: readonly string[]
  readonly #lazy: boolean
  readonly #server: Server
  readonly #requests = new Outbox<HandlerOutput<never, () => void>>()

  constructor (protocols: readonly string[], lazy: boolean, server: Server) {
    this.#protocols = protocols
    this.#wanted = protocols.slice(-1)
    this.#lazy = lazy
    this.#server = server
  }

  open (closed: () => void): void {
    this.#requests.push({ type: 'outbound-stream-request', protocols: this.#wanted, info: closed, lazy: this.#lazy })
  }

  listenProtocols (): readonly string[] {
    return this.#protocols
  }

  inboundInfo (): () => void {
    return () => {}
  }

  poll (cx: PollContext): Poll<HandlerOutput<never, () => void>> {
    return this.#requests.poll(cx)
  }

  onConnectionEvent (event: ConnectionEvent<() => void>): void {
    switch (event.type) {
      case 'fully-negotiated-inbound':
        this.#server.serve(event.stream)
        break
      case 'fully-negotiated-outbound':
        // Otherwise the cell would not measure what its name says.
        if (event.lazy !== this.#lazy) {
          fail(new Error(`The stream was opened with lazy: ${event.lazy}`))
        }
        new Client(event.stream, event.info).start()
        break
      case 'dial-upgrade-error':
      case 'listen-upgrade-error':
        fail(event.error)
        break
      case 'local-protocols-change':
      case 'remote-protocols-change':
      case 'address-change':
    }
  }
}
