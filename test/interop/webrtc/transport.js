// Loaded by test/support/nodes.ts in the mode `webrtc`.
import { webRTCDirect } from '@libp2p/webrtc'

export const transports = [webRTCDirect()]
