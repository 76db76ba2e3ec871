// Node 20 lacks Promise.withResolvers, which js-libp2p calls; Node 22 and 24 run without.
import 'core-js/stable/promise/with-resolvers.js'
