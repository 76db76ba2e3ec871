import suite from '@libp2p/interface-compliance-tests/stream-muxer'
import { negotiated } from 'libp2p-behaviours'
import { muxers } from './subjects.js'

for (const [name, muxer] of Object.entries(muxers)) {
  describe(`stream muxer: stock ${name}`, () => {
    suite({ setup: async () => muxer(), teardown: async () => {} })
  })

  // The suite never speaks multistream-select. A muxer that belongs to no connection passes its streams through.
  describe(`stream muxer: wrapped ${name}`, () => {
    suite({ setup: async () => negotiated(muxer)(), teardown: async () => {} })
  })
}
