/** The part of JSON Schema that our schema file uses; a keyword that is not here makes it throw. */
export type Schema = Readonly<Record<string, unknown>>

const ANNOTATIONS = new Set(['$schema', '$id', '$defs', 'title', 'description'])

/** Where and how a value breaks a schema; nothing when it does not. */
export function invalid (value: unknown, schema: Schema, root: Schema = schema, path = '$'): string[] {
  return Object.entries(schema).flatMap(([keyword, rule]) => {
    const check = KEYWORDS[keyword]
    if (check === undefined && !ANNOTATIONS.has(keyword)) {
      throw new Error(`unknown keyword ${keyword}`)
    }
    return check?.(value, rule as never, root, path) ?? []
  })
}

type Check = (value: unknown, rule: never, root: Schema, path: string) => string[]

const KEYWORDS: Record<string, Check> = {
  $ref: (value, rule: string, root, path) => {
    const name = rule.replace('#/$defs/', '')
    return invalid(value, (root['$defs'] as Record<string, Schema>)[name]!, root, path)
  },
  const: (value, rule: unknown, _, path) => problem(value === rule, path, `is not ${String(rule)}`),
  enum: (value, rule: unknown[], _, path) => problem(rule.includes(value), path, `is none of ${rule.join(', ')}`),
  type: (value, rule: string | string[], _, path) => problem([rule].flat().some(type => isOf(type, value)), path, `is no ${String(rule)}`),
  pattern: (value, rule: string, _, path) => problem(new RegExp(rule, 'u').test(String(value)), path, `does not match ${rule}`),
  minimum: (value, rule: number, _, path) => problem(typeof value !== 'number' || value >= rule, path, `is below ${rule}`),
  maximum: (value, rule: number, _, path) => problem(typeof value !== 'number' || value <= rule, path, `is above ${rule}`),
  exclusiveMinimum: (value, rule: number, _, path) => problem(typeof value !== 'number' || value > rule, path, `is not above ${rule}`),
  minItems: (value, rule: number, _, path) => problem(!Array.isArray(value) || value.length >= rule, path, `has fewer than ${rule}`),
  maxItems: (value, rule: number, _, path) => problem(!Array.isArray(value) || value.length <= rule, path, `has more than ${rule}`),
  required: (value, rule: string[], _, path) => rule.flatMap(key => problem(Object.hasOwn(value as object, key), path, `has no ${key}`)),
  items: (value, rule: Schema, root, path) => (value as unknown[]).flatMap((item, index) => invalid(item, rule, root, `${path}[${index}]`)),
  properties: (value, rule: Record<string, Schema>, root, path) => Object.entries(rule).flatMap(([key, schema]) =>
    Object.hasOwn(value as object, key) ? invalid((value as Record<string, unknown>)[key], schema, root, `${path}.${key}`) : []),
  additionalProperties: (value, rule: Schema, root, path) =>
    Object.entries(value as object).flatMap(([key, member]) => invalid(member, rule, root, `${path}.${key}`)),
  allOf: (value, rule: Schema[], root, path) => rule.flatMap(schema => invalid(value, schema, root, path)),
  oneOf: (value, rule: Schema[], root, path) =>
    problem(rule.filter(schema => invalid(value, schema, root, path).length === 0).length === 1, path, 'does not match exactly one of several'),
  not: (value, rule: Schema, root, path) => problem(invalid(value, rule, root, path).length > 0, path, 'matches what it must not')
}

function problem (isFine: boolean, path: string, text: string): string[] {
  return isFine ? [] : [`${path} ${text}`]
}

function isOf (type: string, value: unknown): boolean {
  switch (type) {
    case 'array': return Array.isArray(value)
    case 'object': return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'integer': return Number.isInteger(value)
    default: return typeof value === type
  }
}
