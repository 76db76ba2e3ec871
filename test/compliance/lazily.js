import { setTimeout as delay } from 'node:timers/promises'
import { withSwarm } from 'libp2p-behaviours'

/** Identify is what tells a node the names of its peer, so its own streams cannot wait for them. */
const IDENTIFY = '/ipfs/id/1.0.0'

/** How many streams were opened, and how many of them without waiting for the peer. */
export const opened = { all: 0, lazily: 0 }

/** As `withSwarm`, but every stream that a service of the node opens is asked for with `lazy: true` once the peer has announced its name. */
export function withLazySwarm (options, init) {
  const node = {}
  const plugged = withSwarm({
    ...options,
    streamMuxers: options.streamMuxers.map((muxer) => wrapped(muxer, watching)),
    services: {
      ...options.services,
      keeper: ({ swarm }) => {
        node.swarm = swarm
        return {}
      }
    }
  }, init)
  return { ...plugged, streamMuxers: plugged.streamMuxers.map((muxer) => wrapped(muxer, (made) => asking(made, node))) }
}

/** A factory that gives `change` every muxer that it makes. */
function wrapped (factory, change) {
  return (components) => {
    const made = factory(components)
    return new Proxy(made, {
      get: (target, key) => key === 'createStreamMuxer'
        ? (wire) => change(target.createStreamMuxer(wire))
        : Reflect.get(target, key)
    })
  }
}

/** Streams that had a message of the peer, and so may have had its agreement. */
const answered = new WeakSet()

function watching (muxer) {
  const createStream = muxer.createStream.bind(muxer)
  muxer.createStream = async (options) => {
    const stream = await createStream(options)
    const dispatch = stream.dispatchEvent.bind(stream)
    stream.dispatchEvent = (event) => {
      if (event.type === 'message') {
        answered.add(stream)
      }
      return dispatch(event)
    }
    return stream
  }
  return muxer
}

function asking (muxer, node) {
  const createStream = muxer.createStream.bind(muxer)
  muxer.createStream = async (options) => {
    const { protocol } = options
    if (protocol === undefined || protocol === IDENTIFY) {
      return await createStream(options)
    }
    while (muxer.status === 'open' && !isAnnounced(node.swarm, muxer, protocol)) {
      await delay(5)
    }
    const stream = await createStream({ ...options, lazy: true })
    opened.all++
    opened.lazily += answered.has(stream) ? 0 : 1
    return stream
  }
  return muxer
}

function isAnnounced (swarm, muxer, protocol) {
  return swarm.connections.some(({ host, remote }) => host.streams === muxer.streams && remote.has(protocol))
}
