/**
 * Who negotiates the streams of a connection: the swarm, on a muxer that was wrapped, or the host, on any other: QUIC, WebRTC
 * and WebTransport bring their own, and with the bare service `swarm()` none is wrapped (S1.5).
 */
export type ConnectionMode = 'native' | 'hosted'
