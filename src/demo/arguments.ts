import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { peerIdFromString } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import type { Multiaddr } from '@multiformats/multiaddr'

/** What the user wants to see. */
export type Command =
  | { readonly type: 'demo' }
  | { readonly type: 'help' }
  | { readonly type: 'listen', readonly port: number }
  | { readonly type: 'dial', readonly address: Multiaddr }
  | { readonly type: 'share', readonly file: string, readonly port: number }
  | { readonly type: 'fetch', readonly address: Multiaddr, readonly name: string, readonly out: string }

/** How to call the demo. */
export const USAGE = `npm start                               two nodes in this process, start to finish
npm start -- listen [--port N]          one node that waits for others, until Ctrl-C
npm start -- dial MULTIADDR             one node that visits a listening one
npm start -- share FILE [--port N]      offers a file under its name, until Ctrl-C
npm start -- fetch MULTIADDR NAME OUT   fetches it; a second call goes on where the first one was cut`

/** An argument that makes no sense; the message is one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Highest port that TCP has. */
const MAX_PORT = 65_535

/** @throws UsageError for anything that is not in {@link USAGE} */
export function parseCommand (args: readonly string[]): Command {
  const { values, positionals: [command, ...rest] } = parse(args)
  if (values.help === true) {
    return { type: 'help' }
  }
  if (values.port !== undefined && command !== 'listen' && command !== 'share') {
    throw new UsageError('--port goes with listen and share only')
  }
  switch (command) {
    case undefined:
      return { type: 'demo' }
    case 'listen':
      expectNothing(rest)
      return { type: 'listen', port: parsePort(values.port ?? '0') }
    case 'dial': {
      const [address, ...more] = rest
      expectNothing(more)
      return { type: 'dial', address: parseAddress(address, 'dial') }
    }
    case 'share': {
      const [file, ...more] = rest
      expectNothing(more)
      return { type: 'share', file: parseFile(file), port: parsePort(values.port ?? '0') }
    }
    case 'fetch': {
      const [address, name, out, ...more] = rest
      expectNothing(more)
      return { type: 'fetch', address: parseAddress(address, 'fetch'), name: parseName(name), out: parseOut(out) }
    }
    default:
      throw new UsageError(`there is no command "${command}": use listen, dial, share, fetch, or none`)
  }
}

function parse (args: readonly string[]): { values: { port?: string, help?: boolean }, positionals: string[] } {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { port: { type: 'string' }, help: { type: 'boolean', short: 'h' } }
    })
  } catch (error) {
    const [firstLine] = error instanceof Error ? error.message.split('\n') : []
    throw new UsageError(firstLine ?? 'the arguments cannot be read', { cause: error })
  }
}

function expectNothing (rest: readonly string[]): void {
  if (rest.length > 0) {
    throw new UsageError(`there is nothing to do with "${rest.join(' ')}"`)
  }
}

function parsePort (text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : NaN
  if (!(port <= MAX_PORT)) {
    throw new UsageError(`--port must be a whole number from 0 to ${MAX_PORT}, received "${text}"`)
  }
  return port
}

function parseAddress (text: string | undefined, command: string): Multiaddr {
  if (text === undefined) {
    throw new UsageError(`${command} needs the address that a listening node printed`)
  }
  try {
    const address = multiaddr(text)
    for (const { name, value = '' } of address.getComponents()) {
      if (name === 'p2p') {
        peerIdFromString(value)
      }
    }
    return address
  } catch (error) {
    throw new UsageError(`"${text}" is no multiaddr: use the address that a listening node printed`, { cause: error })
  }
}

function parseFile (path: string | undefined): string {
  if (path === undefined) {
    throw new UsageError('share needs a file')
  }
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new UsageError(`there is no file "${path}"`)
  }
  return path
}

/** Peers share files, not paths: the name says nothing of where the file is, or comes to be. */
function parseName (name: string | undefined): string {
  if (name === undefined) {
    throw new UsageError('fetch needs the name of the file')
  }
  if (!/^[^/\\\p{Cc}]+$/u.test(name) || /^\.{1,2}$/.test(name)) {
    throw new UsageError(`${JSON.stringify(name)} is no name of a file: it must not be a path`)
  }
  return name
}

function parseOut (path: string | undefined): string {
  if (path === undefined) {
    throw new UsageError('fetch needs the file to write')
  }
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) {
    throw new UsageError(`"${path}" is there already`)
  }
  if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new UsageError(`there is no folder "${dirname(path)}"`)
  }
  return path
}
