import { existsSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { ESLint } from 'eslint'
import { describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const eslint = new ESLint({ cwd: root, overrideConfigFile: resolve(root, '.config/eslint.config.js') })

/** The rules of whatever `npm run lint` would say if `file`, which must exist, held `code`. */
async function lint (file: string, code: string): Promise<string[]> {
  const [result] = await eslint.lintText(code, { filePath: resolve(root, file) })
  const messages = result?.messages ?? []
  expect(messages.filter(({ fatal }) => fatal)).toEqual([])
  return messages.map(({ ruleId }) => ruleId ?? '')
}

/** Some file of each folder: the linter needs types, and only files on disk have them. */
function someFileOf (folder: string): string {
  const file = readdirSync(resolve(root, folder)).find((name) => name.endsWith('.ts') && name !== 'index.ts')
  return `${folder}/${file ?? 'none.ts'}`
}

const pure = ['core', 'protocols', 'negotiation', 'subscriptions', 'handler', 'connection', 'behaviour', 'swarm', 'testing']
  .map((folder) => `src/${folder}`)
  .filter((folder) => existsSync(resolve(root, folder)))
  .map(someFileOf)
  .concat('src/errors.ts')

const globals = {
  'a timer': 'setTimeout(() => undefined, 1)\n',
  'a repeated timer': 'setInterval(() => undefined, 1)\n',
  'a microtask': 'queueMicrotask(() => undefined)\n',
  'the wall clock': 'export const now: number = Date.now()\n',
  'a new date': 'export const date: unknown = new Date()\n',
  'the monotonic clock': 'export const now: number = performance.now()\n',
  'the global object': 'globalThis.setTimeout(() => undefined, 1)\n',
  'a promise': 'export const later: unknown = Promise.resolve(1)\n',
  'a new promise': 'export const later: unknown = new Promise<void>((resolve) => { resolve() })\n',
  'a DOM event': 'export const target: unknown = new EventTarget()\n',
  'a signal': 'export const signal: unknown = AbortSignal.timeout(1)\n',
  'the console': 'console.log(1)\n',
  'the process': 'export const id: number = process.pid\n',
  'random bytes': 'export const bytes: unknown = crypto.getRandomValues(new Uint8Array(1))\n'
}

const forms = {
  await: 'export const value: unknown = await 1\n',
  'for await': 'for await (const value of []) { String(value) }\n',
  'an async function': 'export async function later (): PromiseLike<void> {}\n',
  'an async arrow': 'export const later: unknown = async () => 1\n',
  'an async generator': 'export async function * values (): unknown { yield 1 }\n',
  'an async method': 'export const late: unknown = { async wait (): unknown {} }\n',
  'the type of a promise': 'export interface Late { wait (): Promise<void> }\n',
  'an import at run time': 'export const late: unknown = import("./other.ts")\n'
}

const everywhere: Record<string, { rule: string, code: string }> = {
  'a semicolon': { rule: '@stylistic/semi', code: 'export const a = 1;\n' },
  'double quotes': { rule: '@stylistic/quotes', code: 'export const a = "a"\n' },
  'a function without its space': { rule: '@stylistic/space-before-function-paren', code: 'export function a(): void {}\n' },
  any: { rule: '@typescript-eslint/no-explicit-any', code: 'export const a: any = 1\n' },
  'an export without a doc': { rule: 'jsdoc/require-jsdoc', code: 'export function a (): void {}\n' },
  'an interface without a doc': { rule: 'jsdoc/require-jsdoc', code: 'export interface A { readonly a: number }\n' },
  'a method without a doc': { rule: 'jsdoc/require-jsdoc', code: '/** A. */\nexport class A {\n  a (): void {}\n}\n' },
  'a boundary without its type': { rule: '@typescript-eslint/explicit-module-boundary-types', code: 'export const a = (b: number) => b\n' },
  'a switch that forgets a variant': {
    rule: '@typescript-eslint/switch-exhaustiveness-check',
    code: 'declare const a: \'b\' | \'c\'\nswitch (a) {\n  case \'b\':\n    break\n}\n'
  },
  'a switch over a union with a default': {
    rule: '@typescript-eslint/switch-exhaustiveness-check',
    code: 'declare const a: \'b\'\nswitch (a) {\n  case \'b\':\n    break\n  default:\n    break\n}\n'
  },
  'a type import among values': { rule: 'no-restricted-syntax', code: 'import { type Poll } from \'./poll.ts\'\nexport type A = Poll<1>\n' },
  'a type imported as a value': { rule: '@typescript-eslint/consistent-type-imports', code: 'import { Poll } from \'./poll.ts\'\nexport type A = Poll<1>\n' },
  'an import of what is built': { rule: 'no-restricted-syntax', code: 'import \'./poll.js\'\n' },
  'an export of everything': { rule: 'no-restricted-syntax', code: 'export * from \'./poll.ts\'\n' },
  'a method written as a property': { rule: '@typescript-eslint/method-signature-style', code: 'export interface A { a: () => void }\n' },
  'a type for a shape': { rule: '@typescript-eslint/consistent-type-definitions', code: 'export type A = { a: number }\n' }
}

describe('the lint', { timeout: 120_000 }, () => {
  it.each(Object.entries(globals))('refuses %s in the core', async (_, code) => {
    expect(await lint('src/core/ids.ts', code)).toContain('no-restricted-globals')
  })

  it.each(Object.entries(forms))('refuses %s in the core', async (_, code) => {
    expect(await lint('src/core/ids.ts', code)).toContain('no-restricted-syntax')
  })

  it.each(pure)('refuses a timer, a promise, await and chance in %s', async (file) => {
    expect(await lint(file, globals['a timer'])).toContain('no-restricted-globals')
    expect(await lint(file, globals['a promise'])).toContain('no-restricted-globals')
    expect(await lint(file, forms['await'])).toContain('no-restricted-syntax')
    expect(await lint(file, 'export const chance: number = Math.random()\n')).toContain('no-restricted-properties')
  })

  it.each(Object.entries(everywhere))('refuses %s', async (_, { rule, code }) => {
    expect(await lint('src/core/ids.ts', code)).toContain(rule)
  })

  it.each(['src/libp2p', 'src/behaviours'].map(someFileOf))('lets %s have promises, but neither timers nor the globals of Node', async (file) => {
    expect(await lint(file, `/** Waits. */\nexport async function later (): Promise<void> {\n  await Promise.resolve()\n}\n`)).toEqual([])
    expect(await lint(file, globals['a timer'])).toContain('no-restricted-globals')
    expect(await lint(file, globals['the wall clock'])).toContain('no-restricted-globals')
    expect(await lint(file, globals['the process'])).toContain('no-restricted-globals')
    expect(await lint(file, globals['the console'])).toContain('no-console')
  })

  it('lets the scheduler have timers', async () => {
    expect(await lint('src/libp2p/scheduler.ts', globals['a timer'])).toEqual([])
  })
})
