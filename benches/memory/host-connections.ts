import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('host-connections-run.ts', import.meta.url))

/** What connections between two nodes in one process took. */
export interface HostConnections {
  /** Pairs of ends that were open at a time. */
  readonly standing: number
  /** Bytes of heap for both ends. */
  readonly bytesPerPair: number
}

/**
 * Connects two nodes of js-libp2p, in a process of their own, until there are `count` connections.
 *
 * @param isPlugged - whether both have the plug-in, with one behaviour
 * @throws Error when that process ends without a result
 */
export async function hostConnections (count: number, isPlugged: boolean): Promise<HostConnections> {
  const child = fork(PROGRAM, [String(count), isPlugged ? 'plugged' : 'stock'])
  try {
    const failed = once(child, 'exit').then(() => { throw new Error('the process with the nodes ended without a result') })
    const [result] = await Promise.race([once(child, 'message'), failed]) as [HostConnections]
    return result
  } finally {
    child.kill('SIGKILL')
  }
}
