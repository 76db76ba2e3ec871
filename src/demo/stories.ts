import { DemoNode } from './node.ts'
import type { Printer } from './printer.ts'
import type { Seen } from './node.ts'
import type { Multiaddr } from '@multiformats/multiaddr'

const LOOPBACK = '/ip4/127.0.0.1/tcp/0'

/** Two nodes in this process, from start to finish. */
export async function runDemo (printer: Printer): Promise<void> {
  const startedAt = performance.now()
  printer.line('Two js-libp2p nodes with composed behaviours, over TCP, noise and yamux on loopback.\n')
  const alice = await DemoNode.start('alice', 'green', printer, [LOOPBACK])
  const bob = await DemoNode.start('bob', 'magenta', printer, [LOOPBACK])
  try {
    const [address] = bob.addresses
    if (address === undefined) {
      throw new Error('bob does not listen')
    }
    await alice.visit(address)
    await Promise.all([alice.meet(bob.peerId), bob.meet(alice.peerId)])
  } finally {
    await alice.stop()
    await bob.stop()
  }
  summarise(printer, [alice, bob], performance.now() - startedAt)
}

/** One node that visits another machine's. */
export async function visit (printer: Printer, address: Multiaddr): Promise<void> {
  const startedAt = performance.now()
  const visitor = await DemoNode.start('visitor', 'green', printer, [])
  try {
    await visitor.meet(await visitor.visit(address))
  } finally {
    await visitor.stop()
  }
  summarise(printer, [visitor], performance.now() - startedAt)
}

/** One node that welcomes visitors until `signal` aborts. */
export async function listen (printer: Printer, port: number, signal: AbortSignal): Promise<void> {
  const startedAt = performance.now()
  const host = await DemoNode.start('host', 'magenta', printer, [`/ip4/0.0.0.0/tcp/${port}`])
  host.onConnection(peer => {
    host.meet(peer).catch((error: unknown) => { printer.line(`the visit ended early: ${error instanceof Error ? error.message : String(error)}`) })
  })
  printer.line('\nOn another machine:')
  for (const address of host.addresses) {
    printer.line(printer.paint('cyan', `  npm start -- dial ${String(address)}`))
  }
  printer.line('Ctrl-C ends it.\n')
  await new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })
  await host.stop()
  summarise(printer, [host], performance.now() - startedAt)
}

function summarise (printer: Printer, nodes: readonly DemoNode[], elapsedMs: number): void {
  printer.line()
  for (const { name, seen } of nodes) {
    printer.line(`${printer.paint('yellow', name.padEnd(7))} ${describe(seen)}`)
  }
  printer.line(printer.paint('grey', `done in ${(elapsedMs / 1000).toFixed(1)} s`))
}

function describe (seen: Seen): string {
  return [
    `connections ${seen.connections}`, `pings ${seen.pings}`, `requests answered ${seen.answers}`, `greetings ${seen.greetings}`,
    `protocols added ${seen.added}`, `removed ${seen.removed}`, `closed ${seen.closed}`
  ].join(' · ')
}
