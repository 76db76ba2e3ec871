import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

/** What may stand in its place: nobody complains. */
const legal: Record<string, string> = {
  'src/core/poll.ts': 'export const PENDING = Symbol("pending")\n',
  'src/protocols/list.ts': 'export { PENDING } from "../core/poll.ts"\n',
  'src/negotiation/dialer.ts': 'export { PENDING } from "../protocols/list.ts"\n',
  'src/handler/author.ts': 'export { PENDING } from "../core/poll.ts"\n',
  'src/behaviour/author.ts': 'import type { PeerId } from "@libp2p/interface"\nimport type { Multiaddr } from "@multiformats/multiaddr"\n'
    + 'export type Known = PeerId | Multiaddr\n',
  'src/behaviours/author.ts': 'export { concat } from "uint8arrays"\n',
  'src/libp2p/driver.ts': 'export { PENDING } from "../negotiation/dialer.ts"\nexport { TypedEventEmitter } from "@libp2p/interface"\n',
  'src/demo/main.ts': 'import "node:fs"\nimport "@libp2p/tcp"\n',
  'test/interop/smoldot/cell.js': 'import "smoldot"\n',
  'src/protocols/index.ts': 'export { PENDING } from "./list.ts"\n'
}

interface Plant { rule: string, file: string, code: string }

const plants: Record<string, Plant> = {
  'an import that goes up': { rule: 'layer-core', file: 'src/core/up.ts', code: 'export { PENDING } from "../protocols/list.ts"\n' },
  'a type import that goes up': { rule: 'layer-protocols', file: 'src/protocols/up.ts', code: 'export type * from "../handler/author.ts"\n' },
  'an import of a neighbour': { rule: 'layer-handler', file: 'src/handler/beside.ts', code: 'import "../negotiation/dialer.ts"\n' },
  'a connection that knows behaviours': { rule: 'layer-connection', file: 'src/connection/up.ts', code: 'import "../behaviour/author.ts"\n' },
  'errors that know handlers': { rule: 'layer-errors', file: 'src/errors.ts', code: 'import "./handler/author.ts"\n' },
  'a demo that reaches inside': { rule: 'layer-demo', file: 'src/demo/inside.ts', code: 'import "../core/poll.ts"\n' },
  'a use of the demo': { rule: 'nobody-imports-the-demo', file: 'src/libp2p/demo.ts', code: 'import "../demo/main.ts"\n' },
  'a folder that has no layer': { rule: 'folder-without-a-layer', file: 'src/helpers/any.ts', code: 'import "../core/poll.ts"\n' },
  'an import of an index': { rule: 'nobody-imports-an-index', file: 'src/handler/index-user.ts', code: 'import "../protocols/index.ts"\n' },
  'a package in the core': { rule: 'no-packages-in-the-core', file: 'src/core/package.ts', code: 'export { concat } from "uint8arrays"\n' },
  'a package in an index of the core': { rule: 'no-packages-in-the-core', file: 'src/negotiation/index.ts', code: 'export { concat } from "uint8arrays"\n' },
  'the type of a package in the core': {
    rule: 'no-packages-in-the-core', file: 'src/handler/package-type.ts', code: 'export type { PeerId } from "@libp2p/interface"\n'
  },
  'a package in the test kit': { rule: 'no-packages-in-the-core', file: 'src/testing/package.ts', code: 'import "uint8arrays"\n' },
  'the host at run time in a behaviour': {
    rule: 'only-host-types-above-the-handlers', file: 'src/behaviour/package.ts', code: 'export { TypedEventEmitter } from "@libp2p/interface"\n'
  },
  'other types in the swarm': {
    rule: 'no-other-types-above-the-handlers', file: 'src/swarm/package-type.ts', code: 'export type { Uint8ArrayList } from "uint8arraylist"\n'
  },
  'a module of Node in the plug-in': { rule: 'no-node-modules-in-a-browser', file: 'src/libp2p/node.ts', code: 'import "node:fs"\n' },
  'a module of Node without its prefix': { rule: 'no-node-modules-in-a-browser', file: 'src/core/node.ts', code: 'import "fs"\n' },
  'a development package in what ships': {
    rule: 'no-dev-dependencies-in-what-ships', file: 'src/libp2p/dev.ts', code: 'import "@libp2p/tcp"\n'
  },
  'a package that nobody listed': { rule: 'no-unlisted-packages', file: 'src/libp2p/unlisted.ts', code: 'import "@eslint/core"\n' },
  'a peer that must stay in its test folder': { rule: 'no-smoldot', file: 'src/libp2p/peer.ts', code: 'import "smoldot"\n' },
  'a test elsewhere that needs that peer': { rule: 'no-smoldot', file: 'test/integration/peer.ts', code: 'import "smoldot"\n' },
  'a circle': { rule: 'no-cycles', file: 'src/core/circle-back.ts', code: 'import "./circle.ts"\n' },
  'a file that nobody needs': { rule: 'no-orphans', file: 'src/core/orphan.ts', code: 'export const nobody = 1\n' },
  'a module that is not there': { rule: 'everything-resolves', file: 'src/libp2p/missing.ts', code: 'import "./not-there.ts"\n' }
}

/** What a plant needs beside itself. */
const beside: Record<string, string> = { 'src/core/circle.ts': 'import "./circle-back.ts"\n' }

function layOut (files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'layers-'))
  for (const [file, code] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), code)
  }
  for (const file of ['package.json', 'tsconfig.json']) {
    copyFileSync(join(root, file), join(folder, file))
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir')
  return folder
}

/** Exit code and output of the command behind `npm run layers`, run in `folder`. */
function layers (folder: string): { code: number | null, output: string } {
  const args = [join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs'), '--config', join(root, '.config/dependency-cruiser.cjs'), 'src', 'test']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env: { ...process.env, FORCE_COLOR: '0', NO_COLOR: '1' } })
  return { code: status, output: stdout + stderr }
}

describe('the layer check', { timeout: 120_000 }, () => {
  const folders: string[] = []
  let checked: { code: number | null, output: string }

  beforeAll(() => {
    const planted = Object.fromEntries(Object.values(plants).map(({ file, code }) => [file, code]))
    folders.push(layOut({ ...legal, ...beside, ...planted }))
    checked = layers(folders[0]!)
  }, 120_000)

  afterAll(() => {
    for (const folder of folders) {
      rmSync(folder, { recursive: true })
    }
  })

  it('passes when each import stands in its place', () => {
    const folder = layOut(legal)
    folders.push(folder)
    expect(layers(folder)).toMatchObject({ code: 0, output: expect.stringContaining('no dependency violations') as string })
  })

  it('fails on planted violations, and names no file that was legal', () => {
    expect(checked.code).toBeGreaterThan(0)
    for (const file of Object.keys(legal)) {
      expect(checked.output).not.toContain(`: ${file}`)
    }
  })

  it.each(Object.entries(plants))('refuses %s', (_, { rule, file }) => {
    expect(checked.output).toContain(`error ${rule}: ${file}`)
  })
})
