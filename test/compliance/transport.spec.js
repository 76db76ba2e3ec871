import suite from '@libp2p/interface-compliance-tests/transport'
import { plaintext } from '@libp2p/plaintext'
import { withSwarm } from 'libp2p-behaviours'
import { ping } from 'libp2p-behaviours/ping'
import { muxers, transports } from './subjects.js'

const nodes = {
  stock: (options) => options,
  wrapped: (options) => withSwarm(options, { behaviours: { ping: ping() } })
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
