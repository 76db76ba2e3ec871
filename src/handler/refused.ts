/**
 * What `onBehaviourEvent` of a wrapper answers that does not let messages through: the message goes back to its sender. As the
 * cause of a `HandlerFault`: the part that a stream is for has left its composition, so the stream is for nobody.
 */
export const REFUSED: unique symbol = Symbol('libp2p-behaviours.refused')
