import type { Libp2pOptions } from 'libp2p'

/** For the type check, which is made without the install of this folder. */
export declare const transports: NonNullable<Libp2pOptions['transports']>
