import type { DrainedConnection, Turns } from './swarm-driver.ts'

/** Inputs and commands of one connection, each followed by a drain in which the connection is polled to the end. */
export class ConnectionTurns {
  readonly #turns: Turns
  readonly #connection: DrainedConnection
  #isDrained = false

  /**
   * @param turns - of the whole swarm
   * @param connection - whose inputs these are
   */
  constructor (turns: Turns, connection: DrainedConnection) {
    this.#turns = turns
    this.#connection = connection
  }

  /** See {@link Turns}. */
  get isBusy (): boolean {
    return this.#turns.isBusy
  }

  /** Whether the connection has answered PENDING since its last input; one that has closed is polled no more. */
  get isDrained (): boolean {
    return this.#isDrained || this.#connection.status.phase === 'closed'
  }

  /** The connection answered PENDING. */
  drained (): void {
    this.#isDrained = true
  }

  /** See {@link Turns}. */
  whenIdle (task: () => void): void {
    this.#turns.whenIdle(task)
  }

  /** For inputs that come for every stream: {@link input} without a closure. To be called while not busy. */
  begin (): void {
    this.#isDrained = false
    this.#turns.beginInput()
  }

  /** Drains after the input that was begun. */
  end (): void {
    this.#turns.endInput(this.#connection)
  }

  /** Gives an input and drains, inside the host's event if no drain is running. */
  input (input: () => void): void {
    this.#turns.turn(() => {
      this.#isDrained = false
      input()
    }, this.#connection)
  }

  /** Gives a command, which may come at any time; outside a drain one follows. */
  command (command: () => void): void {
    if (this.#turns.isBusy) {
      command()
    } else {
      this.input(command)
    }
  }
}
