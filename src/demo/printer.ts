/** Where lines go; {@link Printer} needs no more of a stream. */
export interface Terminal {
  readonly isTTY?: boolean | undefined
  write (text: string): unknown
}

const COLOURS = { green: 32, yellow: 33, magenta: 35, cyan: 36, grey: 90 } as const

/** Names of the colours in use. */
export type Colour = keyof typeof COLOURS

/** Writes one line per happening: who, what, and details; in colour on a terminal, unless NO_COLOR is set. */
export class Printer {
  readonly #terminal: Terminal
  readonly #hasColours: boolean
  readonly #startedAt = performance.now()

  constructor (terminal: Terminal, environment: Readonly<Record<string, string | undefined>>) {
    this.#terminal = terminal
    this.#hasColours = terminal.isTTY === true && (environment['NO_COLOR'] ?? '') === ''
  }

  /** A line of its own. */
  line (text: string = ''): void {
    this.#terminal.write(`${text}\n`)
  }

  /** One happening on one node. */
  event (who: string, colour: Colour, what: string, details: string = ''): void {
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(2).padStart(6)
    this.line(`${this.paint('grey', `${seconds}s`)}  ${this.paint(colour, who.padEnd(6))} ${what.padEnd(18)} ${details}`.trimEnd())
  }

  /** `text` in a colour, where there are colours. */
  paint (colour: Colour, text: string): string {
    return this.#hasColours ? `\u001b[${COLOURS[colour]}m${text}\u001b[0m` : text
  }
}
