import type { Logger } from '@libp2p/interface'

/** What is written to the log of the node. */
export interface Log {
  /** For those who look for something. */
  (format: string, ...values: unknown[]): void
  /** Something is wrong. */
  error (format: string, ...values: unknown[]): void
}

/**
 * A logger that throws harms nobody (S4.15).
 *
 * @param logger - of the node
 * @param onError - told what it threw. Must not throw
 */
export function containedLog (logger: Logger, onError: (cause: unknown) => void): Log {
  const contained = (write: (format: string, ...values: unknown[]) => void) => (format: string, ...values: unknown[]): void => {
    try {
      write(format, ...values)
    } catch (cause) {
      onError(cause)
    }
  }
  return Object.assign(contained(logger), { error: contained((format, ...values) => { logger.error(format, ...values) }) })
}
