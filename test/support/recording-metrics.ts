import type { Metrics, Stream } from '@libp2p/interface'

interface Registered {
  readonly kind: string
  readonly label: string | undefined
  readonly values: Record<string, number>
  readonly observed: Array<Record<string, number>>
  readonly calculate: Calculate | undefined
}

type Calculate = () => number | Record<string, number>

interface Options {
  readonly label?: string
  readonly calculate?: Calculate
}

/** A `Metrics` component that writes down what is registered, and what becomes of it. */
export class RecordingMetrics {
  readonly registered = new Map<string, Registered>()
  readonly tracked: Stream[] = []
  /** Calls of the metrics of the swarm so far. */
  calls = 0
  /** Thrown by the metrics of the swarm, after the registration. */
  error: Error | undefined

  /** As the component that a node takes. */
  get component (): Metrics {
    const of = (kind: string) => (name: string, options: Options = {}) => this.#register(kind, name, options)
    const component: Partial<Metrics> = {
      registerMetric: of('metric') as never,
      registerMetricGroup: of('metric group') as never,
      registerCounter: of('counter') as never,
      registerCounterGroup: of('counter group') as never,
      registerHistogram: of('histogram') as never,
      registerHistogramGroup: of('histogram group') as never,
      trackProtocolStream: (stream) => { this.tracked.push(stream) },
      trackMultiaddrConnection: () => {},
      traceFunction: ((_: string, traced: unknown) => traced) as never
    }
    return component as Metrics
  }

  /** What a collector would see now under this name, without its prefix. */
  valueOf (name: string): number | Record<string, number> | undefined {
    const metric = this.registered.get(`libp2p_behaviours_${name}`)
    if (metric === undefined) {
      return undefined
    }
    return metric.calculate?.() ?? (metric.kind.endsWith('group') ? metric.values : metric.values[''] ?? 0)
  }

  /** What was observed under this name. */
  observedOf (name: string): Array<Record<string, number>> {
    return this.registered.get(`libp2p_behaviours_${name}`)?.observed ?? []
  }

  #register (kind: string, name: string, { label, calculate }: Options): object | undefined {
    const metric: Registered = { kind, label, values: Object.create(null) as Record<string, number>, observed: [], calculate }
    this.registered.set(name, metric)
    return calculate !== undefined
      ? undefined
      : {
          update: () => {},
          decrement: () => {},
          reset: () => {},
          timer: () => () => {},
          increment: (given: number | Record<string, number> = 1) => {
            this.#called(name)
            for (const [key, value] of Object.entries(typeof given === 'number' ? { '': given } : given)) {
              metric.values[key] = (metric.values[key] ?? 0) + value
            }
          },
          observe: (value: Record<string, number>) => {
            this.#called(name)
            metric.observed.push(value)
          }
        }
  }

  #called (name: string): void {
    if (!name.startsWith('libp2p_behaviours_')) {
      return
    }
    this.calls++
    if (this.error !== undefined) {
      throw this.error
    }
  }
}
