/**
 * Telemetry for Prometheus. The hot path adds up plain numbers; labels and text are made when a collector reads them.
 * Every metric is named in docs/metrics.md, and a test compares.
 */
import type { Clock } from '@carillon/foundation';
import { Counter, Histogram, type Metric, Registry } from 'prom-client';
import { RUN_ENDS, type RunEnd, type Telemetry, type Vitals } from '../telemetry.ts';
import { cached } from './cached.ts';
import { showProcess } from './show-process.ts';
import { Tally } from './tally.ts';
import { VitalGauges } from './vital-gauges.ts';

const DELAY_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600];
const DURATION_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600, 21_600];
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const BATCH_SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];
const BATCH_KINDS = ['claim', 'settle', 'insert'] as const;
/** Counting jobs is not free: collectors that read more often get the last count. */
const JOBS_MS_MAX = 30_000;
const WAITING_MS_MAX = 5_000;

export interface VitalSources {
  readonly counts: () => Omit<Vitals, 'connections' | 'jobs' | 'waiting'>;
  readonly connections: () => Vitals['connections'];
  readonly countJobs: () => Promise<NonNullable<Vitals['jobs']>>;
  readonly countWaiting: () => Promise<number>;
}

export class PrometheusTelemetry implements Telemetry {
  readonly #registry = new Registry();
  readonly #clock: Clock;
  #readVitals: (() => Promise<Vitals>) | undefined;
  readonly #ended: Record<RunEnd, number>;
  readonly #startDelay = this.#tally('carillon_run_start_delay_seconds', {
    help: 'From the instant a run was due to the instant it was handed out.',
    bounds: DELAY_SECONDS,
  });
  readonly #duration = this.#tally('carillon_run_duration_seconds', {
    help: 'How long attempts ran.',
    bounds: DURATION_SECONDS,
  });
  readonly #batches = new Map<string, Tally>();
  readonly #requests: Histogram<'method' | 'route' | 'status'>;
  readonly #logged: Counter<'level'>;
  readonly #failedPasses: Counter<'loop'>;
  readonly #gauges: VitalGauges;

  constructor(options: { clock: Clock }) {
    this.#clock = options.clock;
    this.#ended = Object.fromEntries(RUN_ENDS.map((end) => [end, 0])) as Record<RunEnd, number>;
    for (const kind of BATCH_KINDS) {
      const help = `How many went into one ${kind} of the storage.`;
      this.#batches.set(kind, this.#tally(`carillon_${kind}_batch_size`, { help, bounds: BATCH_SIZES }));
    }
    const registers = [this.#registry];
    const ended = this.#ended;
    new Counter({
      name: 'carillon_runs_total',
      help: 'Attempts that ended, by how; retried ones are tried again.',
      labelNames: ['outcome'],
      registers,
      collect() {
        this.reset();
        for (const end of RUN_ENDS) this.inc({ outcome: end }, ended[end]);
      },
    });
    this.#requests = new Histogram({
      name: 'carillon_http_request_duration_seconds',
      help: 'From the arrival of a request to the end of its answer.',
      labelNames: ['method', 'route', 'status'],
      buckets: REQUEST_SECONDS,
      registers,
    });
    this.#logged = new Counter({
      name: 'carillon_log_messages_total',
      help: 'Lines that were logged as warnings or errors.',
      labelNames: ['level'],
      registers,
    });
    for (const level of ['warn', 'error']) this.#logged.inc({ level }, 0);
    this.#failedPasses = new Counter({
      name: 'carillon_loop_failures_total',
      help: 'Passes of a role that failed and were tried again.',
      labelNames: ['loop'],
      registers,
    });
    this.#gauges = new VitalGauges(this.#registry);
    showProcess(this.#registry);
  }

  /** Sets the sources of the gauges, once they exist. */
  watch(sources: VitalSources): void {
    const { counts, connections, countJobs, countWaiting } = sources;
    const clock = this.#clock;
    const findJobs = cached(countJobs, { clock, maxAgeMs: JOBS_MS_MAX });
    const findWaiting = cached(countWaiting, { clock, maxAgeMs: WAITING_MS_MAX });
    this.#readVitals = async () => {
      const [jobs, waiting] = await Promise.all([findJobs(), findWaiting()]);
      return { ...counts(), connections: connections(), jobs, waiting };
    };
  }

  runsStarted(delaysMs: readonly number[]): void {
    for (const delayMs of delaysMs) this.#startDelay.add(Math.max(0, delayMs) / 1_000);
  }

  runsEnded(end: RunEnd, durationsMs: readonly number[], count: number): void {
    this.#ended[end] += count;
    for (const durationMs of durationsMs) this.#duration.add(Math.max(0, durationMs) / 1_000);
  }

  batch(kind: (typeof BATCH_KINDS)[number], size: number): void {
    this.#batches.get(kind)!.add(size);
  }

  requestAnswered(request: { method: string; route: string; status: number; elapsedMs: number }): void {
    const { method, route, status, elapsedMs } = request;
    this.#requests.observe({ method, route, status: String(status) }, elapsedMs / 1_000);
  }

  logged(level: 'warn' | 'error' | undefined, loop: string | undefined): void {
    if (level !== undefined) this.#logged.inc({ level });
    if (loop !== undefined) this.#failedPasses.inc({ loop });
  }

  async report(): Promise<{ contentType: string; text: string }> {
    if (this.#readVitals) this.#gauges.show(await this.#readVitals());
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() };
  }

  #tally(name: string, { help, bounds }: { help: string; bounds: readonly number[] }): Tally {
    const tally = new Tally({ name, help, bounds });
    this.#registry.registerMetric(tally as unknown as Metric<string>);
    return tally;
  }
}
