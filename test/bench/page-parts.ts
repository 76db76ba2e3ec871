/** A start tag, an end tag or the text between two tags, as the tests of the HTML page read it. */
export interface Element {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: Element[]
  /** Own text and that of all descendants, entities resolved. */
  text: string
}

const ENTITIES: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': '\'', '&amp;': '&' }

/**
 * Reads a page as strictly as XML: every tag closed in order, every attribute in double quotes and once, every `&` an
 * entity that we write.
 *
 * @throws Error where it is not well-formed
 */
export function parsePage (html: string): Element {
  const root: Element = { name: '#root', attributes: new Map(), children: [], text: '' }
  const open = [root]
  const token = /<!doctype html>|<(script|style)>([^]*?)<\/\1>|<(\/?)([a-z][a-z0-9]*)((?:\s+[A-Za-z-]+="[^"<]*")*)(\/?)>|([^<]+)|(<)/gy
  for (let match = token.exec(html); match !== null; match = token.exec(html)) {
    const [all, rawName, rawText, end, name, attributes = '', isEmpty, text, stray] = match
    const parent = open.at(-1)!
    if (stray !== undefined) {
      throw new Error(`stray "<" at ${match.index}: ${html.slice(match.index, match.index + 80)}`)
    } else if (text !== undefined) {
      const words = resolve(text)
      open.forEach((element) => { element.text += words })
    } else if (rawName !== undefined) {
      parent.children.push({ name: rawName, attributes: new Map(), children: [], text: rawText! })
    } else if (end === '/') {
      if (parent.name !== name) {
        throw new Error(`</${name}> closes <${parent.name}> at ${match.index}`)
      }
      open.pop()
    } else if (name !== undefined) {
      const element: Element = { name, attributes: parseAttributes(attributes), children: [], text: '' }
      parent.children.push(element)
      if (isEmpty !== '/') {
        open.push(element)
      }
    } else if (all !== '<!doctype html>') {
      throw new Error(`cannot read ${all}`)
    }
  }
  if (open.length !== 1) {
    throw new Error(`<${open.at(-1)!.name}> is not closed`)
  }
  return root
}

/** All elements below, in order of the page. */
export function descendants (element: Element): Element[] {
  return element.children.flatMap((child) => [child, ...descendants(child)])
}

/** Descendants with this name, and with this word in their class if one is given. */
export function find (element: Element, name: string, className?: string): Element[] {
  return descendants(element).filter((each) =>
    each.name === name && (className === undefined || (each.attributes.get('class') ?? '').split(' ').includes(className)))
}

function parseAttributes (text: string): Map<string, string> {
  const attributes = new Map<string, string>()
  for (const [, name, value] of text.matchAll(/([A-Za-z-]+)="([^"]*)"/g)) {
    if (attributes.has(name!)) {
      throw new Error(`${name} stands twice in ${text}`)
    }
    attributes.set(name!, resolve(value!))
  }
  return attributes
}

function resolve (text: string): string {
  return text.replace(/&[^;]*;?/g, (entity) => {
    const character = ENTITIES[entity]
    if (character === undefined) {
      throw new Error(`unknown entity ${entity}`)
    }
    return character
  })
}
