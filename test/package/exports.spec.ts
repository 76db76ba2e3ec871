import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const { name, exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  name: string
  exports: Record<string, string | { types: string, import: string }>
}

interface Names { values: string[], types: string[] }

/** What each entry exports: whoever changes a line here changes the API, and says so in the CHANGELOG. */
const published: Record<string, Names> = {
}

const declarations = Object.fromEntries(Object.entries(exports).flatMap(([entry, target]) =>
  typeof target === 'string' ? [] : [[entry, fileURLToPath(new URL(target.types, root))]])) as Record<string, string>

const program = ts.createProgram(Object.values(declarations), {
  module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, target: ts.ScriptTarget.ES2022, skipLibCheck: true, types: []
})

/** The names of types that the declarations of an entry export. */
function typesOf (entry: string): string[] {
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(declarations[entry]!)!
  return checker.getExportsOfModule(checker.getSymbolAtLocation(source)!)
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol))
    .filter((symbol) => (symbol.flags & ts.SymbolFlags.Value) === 0)
    .map((symbol) => symbol.name)
}

describe('the exports map', () => {
  it('has these entries', () => {
    expect(Object.keys(declarations)).toEqual(Object.keys(published))
  })

  describe.each(Object.entries(published))('%s', (entry, { values, types }) => {
    it('exports these values', async () => {
      const module = await import(`${name}${entry.slice(1)}`) as object
      expect(Object.keys(module).sort()).toEqual([...values].sort())
    })

    it('exports these types', () => {
      expect(typesOf(entry).sort()).toEqual([...types].sort())
    })
  })

  it('leads to the package itself for tools', async () => {
    const self = await import(`${name}/package.json`, { with: { type: 'json' } }) as { default: { name: string } }
    expect(self.default.name).toBe(name)
  })
})
