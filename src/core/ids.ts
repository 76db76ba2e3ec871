/** Names one connection of a swarm; unique within the process. A plain string, so that it can be logged and stored. */
export type ConnectionId = string

/** Direction of a connection or stream, seen from this node. */
export type Direction = 'inbound' | 'outbound'
