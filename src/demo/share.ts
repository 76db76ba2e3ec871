/** Shares a file with whoever asks for it by name; fetches one, from where the last attempt was cut, and checks it at the end. */

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { identify } from '@libp2p/identify'
import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import { lpStream } from '@libp2p/utils'
import { yamux } from '@libp2p/yamux'
import { SingleBar } from 'cli-progress'
import { createLibp2p } from 'libp2p'
import { withSwarm } from 'libp2p-behaviours'
import { streams } from 'libp2p-behaviours/streams'
import { fromString, toString } from 'uint8arrays'
import { UsageError } from './arguments.ts'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { NegotiatedStream } from 'libp2p-behaviours'
/** Asked: a name, and where to begin. Answered: size and digest, or an empty message for another name; then the bytes. */
const PROTOCOL = '/file-share/1.0.0'
const createNode = async (listen: string[]) => createLibp2p(withSwarm({
  addresses: { listen }, transports: [tcp()], connectionEncrypters: [noise()], streamMuxers: [yamux()], services: { identify: identify() }
}, { behaviours: { streams: streams() } }))
/** A peer from which nothing comes for so long is given up. */
const PATIENCE_MS = 10_000
const patience = () => ({ signal: AbortSignal.timeout(PATIENCE_MS) })
const messagesOf = (stream: NegotiatedStream) => lpStream(stream, { maxDataLength: 1024 })
const next = async (messages: ReturnType<typeof messagesOf>) => toString((await messages.read(patience())).subarray())
const digestOf = async (path: string) => (await createReadStream(path).pipe(createHash('sha256')).setEncoding('hex').toArray()).join('')

/** Serves the file at `path` under its own name until `signal` aborts. */
export async function share (path: string, port: number, signal: AbortSignal, tell: (address: Multiaddr) => void): Promise<void> {
  const [{ size }, digest] = await Promise.all([stat(path), digestOf(path)])
  const node = await createNode([`/ip4/0.0.0.0/tcp/${port}`])
  node.services.swarm.behaviours.streams.serve(PROTOCOL, async (stream) => {
    const messages = messagesOf(stream)
    const isOffered = await next(messages) === basename(path)
    await messages.write(fromString(isOffered ? `${size} ${digest}` : ''))
    const start = isOffered ? Number(await next(messages)) : size
    for await (const chunk of createReadStream(path, { start })) {
      await stream.write(chunk as Uint8Array)
    }
  })
  node.getMultiaddrs().forEach(tell)
  if (!signal.aborted) { await new Promise((resolve) => { signal.addEventListener('abort', resolve, { once: true }) }) }
  await node.stop()
}

/** Fetches the file `name` into the file `out`, again when the connection is cut or nothing comes for `idleMs`; returns its size. */
export async function fetch (address: Multiaddr, name: string, out: string, attempts = 5, idleMs: number = PATIENCE_MS): Promise<number> {
  const node = await createNode([])
  try {
    const { remotePeer } = await node.dial(address, patience())
    return await receive(await node.services.swarm.behaviours.streams.open(remotePeer, PROTOCOL, patience()), name, out, idleMs)
  } catch (error) {
    if (error instanceof UsageError || attempts === 1) { throw error }
  } finally {
    await node.stop()
  }
  await delay(500)
  return await fetch(address, name, out, attempts - 1, idleMs)
}

/** Adds to what there is of the file already. The stream is paused as long as a chunk is being written. */
async function receive (stream: NegotiatedStream, name: string, out: string, idleMs: number): Promise<number> {
  const messages = messagesOf(stream)
  await messages.write(fromString(name))
  const [, size = '', digest] = /^(\d{1,15}) ([0-9a-f]{64})$/.exec(await next(messages)) ?? []
  if (digest === undefined) { throw new UsageError(`the peer does not share "${name}"`) }
  const part = `${out}.${digest.slice(0, 16)}.part`
  const file = await open(part, 'a')
  const bar = new SingleBar({ format: `${basename(out)} {bar} {percentage} % of {total} bytes` })
  let { size: at } = await file.stat()
  const idle = setTimeout(() => { stream.abort(new Error(`the peer sent nothing for ${idleMs} ms, after ${at} of ${size} bytes`)) }, idleMs)
  try {
    bar.start(Number(size), at)
    await messages.write(fromString(String(at)))
    for await (const chunk of messages.unwrap()) {
      await file.appendFile(chunk.subarray())
      idle.refresh()
      bar.update(at += chunk.byteLength)
      if (at >= Number(size)) { break }
    }
  } finally {
    clearTimeout(idle)
    bar.stop()
    await file.close()
  }
  if (at < Number(size)) { throw new Error('the stream ended early') }
  if (await digestOf(part) !== digest) {
    await rm(part)
    throw new Error(`what came as "${name}" has another digest, and was thrown away`)
  }
  await rename(part, out)
  return at
}
