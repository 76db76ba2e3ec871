import { identify } from '@libp2p/identify'
import suite from '@libp2p/interface-compliance-tests/transport'
import { plaintext } from '@libp2p/plaintext'
import { withSwarm } from 'libp2p-behaviours'
import { ping } from 'libp2p-behaviours/ping'
import { expect } from 'vitest'
import { opened, withLazySwarm } from './lazily.js'
import { muxers, transports } from './subjects.js'

/** Connections that the swarm of some node took over: without any, a suite would prove nothing about the wrap. */
let adopted = 0

const witness = { commitEstablished: () => { adopted++ } }

const nodes = {
  // Without identify: with it, the stock echo service on the memory transport may wait for ever for the end of a stream
  // whose FIN came before the service began to read.
  stock: (options) => options,
  wrapped: (options) => withSwarm(...plugged(options)),
  lazy: (options) => withLazySwarm(...plugged(options))
}

function plugged (options) {
  return [{ ...options, services: { identify: identify() } }, { behaviours: { ping: ping(), witness: () => ({ ...witness }) } }]
}

for (const [name, { transport, matcher, listen }] of Object.entries(transports)) {
  const node = (more) => ({
    transports: [transport],
    connectionEncrypters: [plaintext()],
    streamMuxers: [muxers.yamux],
    connectionMonitor: { enabled: false },
    ...more
  })

  for (const [how, make] of Object.entries(nodes)) {
    describe(`transport: ${how} ${name}`, () => {
      before(() => { adopted = opened.all = opened.lazily = 0 })

      after(() => {
        expect(adopted > 0).toBe(how !== 'stock')
        expect(opened.all > 0).toBe(how === 'lazy')
        expect(opened.lazily).toBe(opened.all)
      })

      suite({
        setup: async () => ({
          dialer: make(node()),
          listener: make(node({ addresses: { listen } })),
          dialMultiaddrMatcher: matcher,
          listenMultiaddrMatcher: matcher
        }),
        teardown: async () => {}
      })
    })
  }
}
