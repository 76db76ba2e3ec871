import { execFile, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { identify } from '@libp2p/identify'
import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import { lpStream } from '@libp2p/utils'
import { yamux } from '@libp2p/yamux'
import { createLibp2p } from 'libp2p'
import { withSwarm } from 'libp2p-behaviours'
import { streams } from 'libp2p-behaviours/streams'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fetch as fetchHere } from '../../src/demo/share.ts'
import type { ChildProcess } from 'node:child_process'
import type { AddressInfo, Socket } from 'node:net'

const run = promisify(execFile)
const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'demo', 'main.js')
const TIMEOUT_MS = 120_000

/** Far above what sockets and flow control hold on the way. */
const FILE_BYTES = 64_000_000
const CUT_AFTER_BYTES = 6_000_000

let folder: string
let content: Buffer
const sharers: ChildProcess[] = []
const links: Link[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'share-'))
  content = randomBytes(FILE_BYTES)
  await writeFile(join(folder, 'film.bin'), content)
})

afterEach(async () => {
  for (const sharer of sharers.splice(0)) {
    sharer.kill('SIGKILL')
  }
  for (const link of links.splice(0)) {
    link.close()
  }
  await rm(folder, { recursive: true })
})

/** Starts a process that shares the file; returns how it ends, and the address to fetch it from. */
async function share (): Promise<{ sharer: ChildProcess, address: string }> {
  const sharer = spawn(process.execPath, [MAIN, 'share', join(folder, 'film.bin')], { stdio: ['ignore', 'pipe', 'inherit'] })
  sharers.push(sharer)
  for await (const line of createInterface({ input: sharer.stdout })) {
    const address = /fetch (\/ip4\/127\S+) "film.bin"/.exec(line)?.[1]
    if (address !== undefined) {
      sharer.stdout.resume()
      return { sharer, address }
    }
  }
  throw new Error('the sharer told no address')
}

async function fetch (address: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [MAIN, 'fetch', address, ...args], { timeout: TIMEOUT_MS })
  return stdout
}

async function failure (...args: string[]): Promise<{ code: number, stdout: string, stderr: string }> {
  return await run(process.execPath, [MAIN, ...args], { timeout: TIMEOUT_MS }).then(
    () => { throw new Error('it should have failed') },
    (error: unknown) => error as { code: number, stdout: string, stderr: string }
  )
}

/** What has been fetched so far. Only that counts: what is on its way is lost with a connection, and may be megabytes. */
function bytesOnDisk (): number {
  const [part] = readdirSync(folder).filter((name) => name.endsWith('.part'))
  return part === undefined ? 0 : statSync(join(folder, part)).size
}

/** A link in front of a sharer that counts what comes through, and can be told to do something when so much was fetched. */
class Link {
  bytes = 0
  /** Of them, those that came through before the limit. */
  bytesBefore = 0
  connections = 0
  readonly #server = createServer((socket) => { this.#join(socket) })
  readonly #port: number
  readonly #onLimit: ((...sockets: Socket[]) => void) | undefined
  readonly #sockets = new Set<Socket>()

  constructor (port: number, onLimit?: (...sockets: Socket[]) => void) {
    this.#port = port
    this.#onLimit = onLimit
    links.push(this)
  }

  /** The address of a sharer, by way of this link. */
  async addressFor (address: string): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return address.replace(/tcp\/\d+/, `tcp/${(this.#server.address() as AddressInfo).port}`)
  }

  close (): void {
    this.#server.close()
    for (const socket of this.#sockets) {
      socket.destroy()
    }
  }

  #join (socket: Socket): void {
    this.connections++
    const sharer = connect(this.#port, '127.0.0.1')
    const before = this.bytes
    for (const [end, other] of [[socket, sharer], [sharer, socket]] as const) {
      this.#sockets.add(end)
      end.on('error', () => {})
      end.on('close', () => { other.destroy() })
    }
    socket.pipe(sharer)
    sharer.on('data', (chunk) => {
      this.bytes += chunk.byteLength
      if (!socket.write(chunk)) {
        sharer.pause()
        socket.once('drain', () => sharer.resume())
      }
      if (before === 0 && this.#onLimit !== undefined && bytesOnDisk() > CUT_AFTER_BYTES) {
        this.bytesBefore = this.bytes
        this.#onLimit(sharer, socket)
      }
    })
  }
}

const portOf = (address: string): number => Number(/tcp\/(\d+)/.exec(address)?.[1])

describe('npm start -- share, fetch', { timeout: TIMEOUT_MS }, () => {
  it('is an example of under 100 lines', async () => {
    const source = await readFile(join(import.meta.dirname, '..', '..', 'src', 'demo', 'share.ts'), 'utf8')
    expect(source.trimEnd().split('\n').length).toBeLessThan(100)
  })

  it('fetches a file as it is, and leaves nothing else', async () => {
    const { sharer, address } = await share()
    expect(await fetch(address, 'film.bin', join(folder, 'copy.bin'))).toBe(`fetched ${FILE_BYTES} bytes, sha256 checked\n`)
    expect(content.equals(await readFile(join(folder, 'copy.bin')))).toBe(true)
    expect((await readdir(folder)).sort()).toEqual(['copy.bin', 'film.bin'])
    const ended = once(sharer, 'exit')
    sharer.kill('SIGINT')
    expect(await ended).toEqual([0, null])
  })

  it('gives up a peer that stops sending, and says how far it came', async () => {
    const node = await createLibp2p(withSwarm({
      addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] }, transports: [tcp()], connectionEncrypters: [noise()], streamMuxers: [yamux()],
      services: { identify: identify() }
    }, { behaviours: { streams: streams() } }))
    try {
      node.services.swarm.behaviours.streams.serve('/file-share/1.0.0', async (stream) => {
        const messages = lpStream(stream)
        await messages.read()
        await messages.write(Buffer.from(`100 ${'0'.repeat(64)}`))
        await messages.read()
        stream.send(Buffer.alloc(10))
        await new Promise((resolve) => { stream.addEventListener('close', resolve, { once: true }) })
      })
      const fetched = fetchHere(node.getMultiaddrs()[0]!, 'film.bin', join(folder, 'copy.bin'), 1, 200)
      await expect(fetched).rejects.toThrow('the peer sent nothing for 200 ms, after 10 of 100 bytes')
    } finally {
      await node.stop()
    }
  })

  it('goes on where it was when the connection is cut', async () => {
    const { address } = await share()
    const link = new Link(portOf(address), (...sockets) => { sockets.forEach((socket) => { socket.destroy() }) })
    await fetch(await link.addressFor(address), 'film.bin', join(folder, 'copy.bin'))
    expect(content.equals(await readFile(join(folder, 'copy.bin')))).toBe(true)
    expect(link.connections).toBe(2)
    expect(link.bytes - link.bytesBefore).toBeLessThan(FILE_BYTES - CUT_AFTER_BYTES / 2)
  })

  it('goes on from what is on disk when the sharer was killed and started again', async () => {
    const first = await share()
    const killed = new Link(portOf(first.address), () => { first.sharer.kill('SIGKILL') })
    const { code, stderr } = await failure('fetch', await killed.addressFor(first.address), 'film.bin', join(folder, 'copy.bin'))
    expect([code, stderr.trimEnd().split('\n').length]).toEqual([1, 1])
    const [part = ''] = (await readdir(folder)).filter((name) => name.endsWith('.part'))
    const { size } = await stat(join(folder, part))
    expect(size).toBeGreaterThan(CUT_AFTER_BYTES / 2)

    const second = await share()
    const link = new Link(portOf(second.address))
    await fetch(await link.addressFor(second.address), 'film.bin', join(folder, 'copy.bin'))
    expect(content.equals(await readFile(join(folder, 'copy.bin')))).toBe(true)
    expect(link.bytes).toBeLessThan(FILE_BYTES - size + CUT_AFTER_BYTES / 2)
    expect(await readdir(folder)).not.toContain(part)
  })

  it('throws away what has another digest than it was told, and begins anew', async () => {
    const { address } = await share()
    const digest = createHash('sha256').update(content).digest('hex')
    await writeFile(join(folder, `copy.bin.${digest.slice(0, 16)}.part`), randomBytes(FILE_BYTES))
    await fetch(address, 'film.bin', join(folder, 'copy.bin'))
    expect(content.equals(await readFile(join(folder, 'copy.bin')))).toBe(true)
    expect((await readdir(folder)).sort()).toEqual(['copy.bin', 'film.bin'])
  })

  it('shares one file, by its name only', async () => {
    const { address } = await share()
    const { code, stderr } = await failure('fetch', address, 'package.json', join(folder, 'copy.bin'))
    expect([code, stderr]).toEqual([2, 'npm start: the peer does not share "package.json"\n'])
    expect(await readdir(folder)).toEqual(['film.bin'])
  })

  const address = '/ip4/127.0.0.1/tcp/1'
  it.each([
    [['share'], /share needs a file/],
    [['share', '/no/such/file'], /there is no file "\/no\/such\/file"/],
    [['share', tmpdir()], /there is no file/],
    [['share', MAIN, 'more'], /there is nothing to do with "more"/],
    [['share', MAIN, '--port', '70000'], /--port must be a whole number/],
    [['fetch'], /fetch needs the address/],
    [['fetch', 'x', 'a', 'b'], /"x" is no multiaddr/],
    [['fetch', address], /fetch needs the name/],
    [['fetch', address, '../a', 'b'], /"\.\.\/a" is no name of a file/],
    [['fetch', address, '..', 'b'], /"\.\." is no name of a file/],
    [['fetch', address, 'a\\b', 'c'], /is no name of a file/],
    [['fetch', address, 'a'], /fetch needs the file to write/],
    [['fetch', address, 'a', MAIN], /is there already/],
    [['fetch', address, 'a', '/no/such/folder/b'], /there is no folder "\/no\/such\/folder"/],
    [['fetch', address, 'a', 'b', 'more'], /there is nothing to do with "more"/]
  ])('says what is wrong with %j in one line and exits with 2', async (args, message) => {
    const { code, stdout, stderr } = await failure(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  })
})
