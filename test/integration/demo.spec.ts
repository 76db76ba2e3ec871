import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { AddressInfo } from 'node:net'

const run = promisify(execFile)
const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'demo', 'main.js')
const TIMEOUT_MS = 60_000

async function failure (...args: string[]): Promise<{ code: number, stdout: string, stderr: string }> {
  return await run(process.execPath, [MAIN, ...args]).then(
    () => { throw new Error('it should have failed') },
    (error: unknown) => error as { code: number, stdout: string, stderr: string }
  )
}

describe('npm start', () => {
  it('tells the whole story of two nodes and ends by itself', { timeout: TIMEOUT_MS }, async () => {
    const { stdout, stderr } = await run(process.execPath, [MAIN], { timeout: TIMEOUT_MS })
    const lines = stdout.split('\n')
    for (const who of ['alice', 'bob']) {
      for (const what of ['connected', 'ping', 'request answered', 'protocol added', 'protocol removed', 'closed', 'stopped']) {
        expect(lines.filter(line => new RegExp(`s {2}${who} +${what}( |$)`).test(line)), `${who}: ${what}\n${stdout}`).not.toHaveLength(0)
      }
    }
    expect(stdout).toMatch(/reason local-close/)
    expect(stdout).toMatch(/alice +connections 1 · pings 1 · requests answered 1 · greetings 1 · protocols added 1 · removed 1 · closed 1/)
    expect(stdout).not.toContain('\u001b')
    expect(stderr).toBe('')
  })

  it('visits a node that listens, which goes on listening until it is told to end', { timeout: TIMEOUT_MS }, async () => {
    const host = spawn(process.execPath, [MAIN, 'listen'], { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      const told: string[] = []
      let address: string | undefined
      const lines = createInterface({ input: host.stdout })
      for await (const line of lines) {
        address ??= /dial (\/ip4\/127\S+)/.exec(line)?.[1]
        if (address !== undefined) {
          break
        }
      }
      host.stdout.on('data', (chunk: Buffer) => { told.push(String(chunk)) })
      host.stdout.resume()
      const { stdout } = await run(process.execPath, [MAIN, 'dial', address ?? ''], { timeout: TIMEOUT_MS })
      expect(stdout).toMatch(/visitor +connections 1 · pings 1 · requests answered 1 · greetings 1 · protocols added 1 · removed 1 · closed 1/)
      const ended = once(host, 'exit')
      host.kill('SIGINT')
      expect(await ended).toEqual([0, null])
      expect(told.join('')).toMatch(/host +connections 1 · .*closed 1/)
    } finally {
      host.kill('SIGKILL')
    }
  })

  it('says in one line that a port is in use', { timeout: TIMEOUT_MS }, async () => {
    const taken = createServer().listen(0, '0.0.0.0')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    try {
      const { code, stderr } = await failure('listen', '--port', String(port))
      expect(code).toBe(1)
      expect(stderr).toBe(`npm start: listen EADDRINUSE: address already in use 0.0.0.0:${port}\n`)
    } finally {
      taken.close()
    }
  })

  it('ends without a word when nobody reads it any more', { timeout: TIMEOUT_MS }, async () => {
    const told: string[] = []
    const demo = spawn(process.execPath, [MAIN], { stdio: ['ignore', 'pipe', 'pipe'] })
    demo.stderr.on('data', (chunk: Buffer) => { told.push(String(chunk)) })
    const ended = once(demo, 'close')
    await once(demo.stdout, 'data')
    demo.stdout.destroy()
    expect(await ended).toEqual([0, null])
    expect(told).toEqual([])
  })

  it.each([
    [['nonsense'], /there is no command "nonsense"/],
    [['dial', '/ip4/127.0.0.1/tcp/1/p2p/nobody'], /"\/ip4\/127.0.0.1\/tcp\/1\/p2p\/nobody" is no multiaddr/],
    [['dial'], /dial needs the address/],
    [['dial', 'not-an-address'], /"not-an-address" is no multiaddr/],
    [['listen', '--port', '99999'], /--port must be a whole number from 0 to 65535/],
    [['listen', '--port', 'x'], /--port must be a whole number/],
    [['--port', '1'], /--port goes with listen and share only/],
    [['listen', 'more'], /there is nothing to do with "more"/],
    [['--unknown'], /unknown/i]
  ])('says what is wrong with %j in one line and exits with 2', async (args, message) => {
    const { code, stdout, stderr } = await failure(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  })

  it('fails with one line when nobody answers', { timeout: TIMEOUT_MS }, async () => {
    const { code, stderr } = await failure('dial', '/ip4/127.0.0.1/tcp/1')
    expect(code).toBe(1)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  })
})
