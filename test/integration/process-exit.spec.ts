import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..', '..')

/** Two nodes with deadlines an hour away: a timer of ours that held the process would show. */
const PROGRAM = `
  import { identify } from '@libp2p/identify'
  import { memory } from '@libp2p/memory'
  import { plaintext } from '@libp2p/plaintext'
  import { yamux } from '@libp2p/yamux'
  import { createLibp2p } from 'libp2p'
  import { withSwarm } from 'libp2p-behaviours'
  import { ping } from 'libp2p-behaviours/ping'

  const HOUR_MS = 3_600_000
  const start = async (address) => createLibp2p(withSwarm({
    addresses: { listen: [address] },
    transports: [memory()],
    connectionEncrypters: [plaintext()],
    streamMuxers: [yamux()],
    services: { identify: identify() }
  }, {
    behaviours: { ping: ping({ intervalMs: HOUR_MS }) },
    idleTimeoutMs: HOUR_MS, inboundTimeoutMs: HOUR_MS, outboundTimeoutMs: HOUR_MS, closeTimeoutMs: HOUR_MS, streamCloseTimeoutMs: HOUR_MS
  }))
  const [alice, bob] = await Promise.all([start('/memory/alice'), start('/memory/bob')])
  const { swarm } = alice.services
  await alice.dial(bob.getMultiaddrs())
  await swarm.behaviours.ping.ping(bob.peerId)
  swarm.protocols.whenSupports(bob.peerId, '/never/1', { timeoutMs: HOUR_MS }).catch((error) => { console.log(error.name) })
  const { done } = await Promise.race([swarm.events().next(), Promise.all([alice.stop(), bob.stop()]).then(() => ({ done: 'stopped' }))])
  console.log(done)
`

describe('a process with nodes that have stopped', () => {
  it('ends by itself, whatever was still waited for (S6.10, S10.22)', async () => {
    const { stdout, stderr } = await run(
      process.execPath,
      ['--import', 'core-js/stable/promise/with-resolvers.js', '--input-type=module', '--unhandled-rejections=strict', '--eval', PROGRAM],
      { cwd: ROOT, timeout: 20_000 }
    )
    expect(stdout.trim().split('\n').sort()).toEqual(['InvalidStateError', 'true'])
    expect(stderr).toBe('')
  })
})
