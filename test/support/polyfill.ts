// js-libp2p 3 calls Promise.withResolvers, which Node 20 lacks.
import 'core-js/stable/promise/with-resolvers.js'
