/** Reasons after which nothing can be flushed any more: the muxer is aborted instead of closed (S6.7). */
export type AbruptReason = 'remote-close' | 'io-error' | 'abuse' | 'aborted'

/** Why a connection ended (S6.4); the first reason is kept. */
export type CloseReason = 'keep-alive-timeout' | 'local-close' | 'handler-error' | AbruptReason
