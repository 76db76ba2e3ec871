/**
 * What a node with a `Metrics` component counts of its swarm (S11.1). Counters are told of each event; what has a level is read
 * when somebody collects, and costs nothing otherwise. Whatever the component throws is contained.
 */

import { MetricLabels } from './metric-labels.ts'
import { StreamAdapter } from './stream-adapter.ts'
import type { CounterGroup, HistogramGroup, Metrics } from '@libp2p/interface'
import type { NegotiatedStream } from '../behaviour/negotiated-stream.ts'
import type { ConnectionLoad, ConnectionMeter, NegotiationRole, RejectReason } from '../connection/connection-meter.ts'
import type { StreamPort } from '../connection/muxer-port.ts'
import type { ConnectionStatus } from '../connection/shutdown.ts'
import type { CloseReason } from '../core/close-reason.ts'
import type { Direction } from '../core/ids.ts'
import type { FailedOutcome, StreamUpgradeErrorKind } from '../errors.ts'

const PREFIX = 'libp2p_behaviours_'

/** One connection, as far as it is measured. */
export interface MeasuredConnection {
  readonly status: ConnectionStatus
  readonly load: ConnectionLoad
  readonly openStreams: Iterable<{ readonly port: StreamPort<NegotiatedStream>, readonly isInbound: boolean }>
}

/** What is read when somebody collects. */
export interface MetricSources {
  /** Those that have not closed. */
  connections (): Iterable<MeasuredConnection>
  /** Events that wait in iterators of `swarm.events()`. */
  bufferedEvents (): number
  /** Told what the component threw. Must not throw. */
  onError (cause: unknown): void
}

/** See above. */
export class SwarmMetrics implements ConnectionMeter<NegotiatedStream> {
  readonly #metrics: Metrics
  readonly #sources: MetricSources
  readonly #protocols = new MetricLabels()
  /** Labels of streams there have been, with how many there are as of the last look. */
  readonly #open: Readonly<Record<Direction, Map<string, number>>> = { inbound: new Map(), outbound: new Map() }
  readonly #streams: Readonly<Record<Direction, CounterGroup>>
  readonly #requests: { increment (): void }
  readonly #failures: CounterGroup
  readonly #inboundFailures: CounterGroup
  readonly #violations: CounterGroup
  readonly #rejected: CounterGroup
  readonly #negotiation: HistogramGroup
  readonly #closed: CounterGroup
  readonly #denied: CounterGroup
  readonly #changes: CounterGroup
  readonly #undelivered: CounterGroup
  readonly #userErrors: CounterGroup
  readonly #yields: CounterGroup

  /**
   * Registers everything.
   *
   * @param metrics - of the node
   * @param sources - what is read when somebody collects
   * @throws what the component throws
   */
  constructor (metrics: Metrics, sources: MetricSources) {
    this.#metrics = metrics
    this.#sources = sources
    function counters (name: string, label: string, help: string): CounterGroup {
      return metrics.registerCounterGroup(PREFIX + name, { label, help })
    }
    this.#streams = {
      inbound: counters('inbound_streams_total', 'protocol', 'Negotiated streams that peers opened'),
      outbound: counters('outbound_streams_total', 'protocol', 'Negotiated streams that this node opened')
    }
    this.#requests = metrics.registerCounter(`${PREFIX}outbound_requests_total`, { help: 'Requests for streams' })
    this.#failures = counters('outbound_failures_total', 'kind', 'Requests for streams that failed')
    this.#inboundFailures = counters('inbound_failures_total', 'outcome', 'Streams of peers that came to nothing')
    this.#violations = counters('violations_total', 'outcome', 'Messages that no conforming peer sends')
    this.#rejected = counters('rejected_streams_total', 'reason', 'Streams of peers that were one too many')
    const untilAgreed = 'From the request or the arrival of a stream until its protocol was agreed'
    this.#negotiation = metrics.registerHistogramGroup(`${PREFIX}negotiation_seconds`, { label: 'role', help: untilAgreed })
    this.#closed = counters('connections_closed_total', 'reason', 'Connections that ended')
    this.#denied = counters('connections_denied_total', 'behaviour', 'Connections that a behaviour denied')
    this.#changes = counters('protocol_changes_total', 'side', 'Changes of the protocol sets of connections')
    this.#undelivered = counters('undelivered_events_total', 'reason', 'Messages to handlers, and events for the application, that nobody got')
    this.#userErrors = counters('user_errors_total', 'source', 'What behaviours, handlers, subscribers and listeners threw')
    this.#yields = counters('yields_total', 'cause', 'Turns that ended before their work did')
    this.#registerLevels()
  }

  // ------------------------------------------------------------------------------------------- for connections

  /** See {@link ConnectionMeter}. */
  opened (direction: Direction, protocol: string, port: StreamPort<NegotiatedStream>, isHost: boolean): void {
    const label = this.#protocols.of(protocol)
    this.#open[direction].set(label, 0)
    this.#increment(this.#streams[direction], label)
    if (!isHost && port instanceof StreamAdapter) {
      const count = (stream: NegotiatedStream): void => { this.#metrics.trackProtocolStream(stream) }
      this.#contain(() => { port.track(count) })
    }
  }

  /** See {@link ConnectionMeter}. */
  negotiated (role: NegotiationRole, elapsedMs: number): void {
    this.#contain(() => { this.#negotiation.observe({ [role]: elapsedMs / 1000 }) })
  }

  /** See {@link ConnectionMeter}. */
  requested (): void {
    this.#contain(() => { this.#requests.increment() })
  }

  /** See {@link ConnectionMeter}. */
  requestFailed (kind: StreamUpgradeErrorKind): void {
    this.#increment(this.#failures, kind)
  }

  /** See {@link ConnectionMeter}. */
  inboundFailed (outcome: FailedOutcome): void {
    this.#increment(this.#inboundFailures, outcome)
  }

  /** See {@link ConnectionMeter}. */
  violated (outcome: FailedOutcome): void {
    this.#increment(this.#violations, outcome)
  }

  /** See {@link ConnectionMeter}. */
  rejected (reason: RejectReason): void {
    this.#increment(this.#rejected, reason)
  }

  /** See {@link ConnectionMeter}. */
  protocolsChanged (side: 'local' | 'remote'): void {
    this.#increment(this.#changes, side)
  }

  /** See {@link ConnectionMeter}; `budget`: the time of a drain was up. */
  yielded (cause: 'frames' | 'handler-events' | 'budget'): void {
    this.#increment(this.#yields, cause)
  }

  // ---------------------------------------------------------------------------------------------- for the swarm

  /** A connection has ended. */
  closed (reason: CloseReason): void {
    this.#increment(this.#closed, reason)
  }

  /** A behaviour denied a connection. */
  denied (behaviour: string): void {
    this.#increment(this.#denied, behaviour)
  }

  /** Messages to handlers, or events for the application (`no-receiver`), that nobody got. */
  undelivered (reason: string, count: number): void {
    this.#increment(this.#undelivered, reason, count)
  }

  /** Code of the user threw. */
  userError (source: string): void {
    this.#increment(this.#userErrors, source)
  }

  #registerLevels (): void {
    const sources = this.#sources
    const sum = (of: (load: ConnectionLoad) => number) => (): number => {
      let total = 0
      for (const { load } of sources.connections()) {
        total += of(load)
      }
      return total
    }
    const level = (name: string, help: string, calculate: () => number): void => {
      this.#metrics.registerMetric(PREFIX + name, { help, calculate })
    }
    const levels = (name: string, label: string, help: string, calculate: () => Record<string, number>): void => {
      this.#metrics.registerMetricGroup(PREFIX + name, { label, help, calculate })
    }
    const negotiating = { inbound: sum((load) => load.negotiatingInbound), outbound: sum((load) => load.negotiatingOutbound) }
    levels('open_inbound_streams', 'protocol', 'Negotiated streams that peers opened, until their end', this.#openStreams('inbound'))
    levels('open_outbound_streams', 'protocol', 'Negotiated streams that this node opened, until their end', this.#openStreams('outbound'))
    levels('negotiating_streams', 'direction', 'Streams in negotiation', () => ({ inbound: negotiating.inbound(), outbound: negotiating.outbound() }))
    level('queued_inbound_streams', 'Streams of peers that wait for their negotiation', sum((load) => load.queuedInbound))
    level('queued_outbound_requests', 'Requests that wait for a stream', sum((load) => load.queuedOutbound))
    levels('connections', 'state', 'Connections of the swarm', () => {
      const states = { busy: 0, idle: 0, closing: 0 }
      for (const { status } of sources.connections()) {
        states[status.phase === 'open' ? status.activity : 'closing']++
      }
      return states
    })
    level('event_buffer_length', 'Events that wait in iterators of swarm.events()', () => sources.bufferedEvents())
  }

  /** A protocol whose last stream has ended is 0: whoever collects keeps what is not mentioned. */
  #openStreams (direction: Direction): () => Record<string, number> {
    const counts = this.#open[direction]
    return () => {
      for (const label of counts.keys()) {
        counts.set(label, 0)
      }
      for (const { openStreams } of this.#sources.connections()) {
        for (const { port, isInbound } of openStreams) {
          const { protocol } = port.stream
          // One without a name is still being negotiated, by the host.
          if (isInbound === (direction === 'inbound') && protocol !== '') {
            const label = this.#protocols.of(protocol)
            counts.set(label, (counts.get(label) ?? 0) + 1)
          }
        }
      }
      return Object.fromEntries(counts)
    }
  }

  #increment (group: CounterGroup, label: string, count = 1): void {
    this.#contain(() => { group.increment({ [label]: count }) })
  }

  #contain (count: () => void): void {
    try {
      count()
    } catch (cause) {
      this.#sources.onError(cause)
    }
  }
}
