/** What can be seen at any moment, as gauges: set all together when somebody collects. */
import { Gauge, type Registry } from 'prom-client';
import type { Vitals } from '../telemetry.ts';

export class VitalGauges {
  readonly #registry: Registry;
  readonly #jobs: Gauge<string>;
  readonly #queue: Gauge<string>;
  readonly #held: Gauge<string>;
  readonly #running: Gauge<string>;
  readonly #unrecorded: Gauge<string>;
  readonly #slots: Gauge<string>;
  readonly #listeners: Gauge<string>;
  readonly #behind: Gauge<string>;
  readonly #connections: Gauge<string>;
  readonly #queued: Gauge<string>;

  constructor(registry: Registry) {
    this.#registry = registry;
    this.#jobs = this.#gauge(
      'jobs',
      'Jobs by state, estimated from a sample where there are many; at most 30 s old.',
      ['state'],
    );
    this.#queue = this.#gauge(
      'queue_depth',
      'Runs whose instant has come and that wait for a slot, in all servers; counted up to 100,000.',
    );
    this.#held = this.#gauge(
      'due_rows_held',
      'Schedules and retries that lie ahead, held in memory by this server.',
    );
    this.#running = this.#gauge('runs_running', 'Runs that this server executes right now.');
    this.#unrecorded = this.#gauge(
      'outcomes_unrecorded',
      'Runs of this server that have ended and whose outcome is not recorded yet.',
    );
    this.#slots = this.#gauge('worker_slots', 'Runs that this server can execute at the same time.');
    this.#listeners = this.#gauge('event_listeners', 'Readers that follow the events of this server.');
    this.#behind = this.#gauge(
      'events_behind_seconds',
      'How far live readers of events are behind; 0 when they are not.',
    );
    this.#connections = this.#gauge(
      'database_connections',
      'All connections of this server to the database, by what they are kept for.',
      ['pool', 'state'],
    );
    this.#queued = this.#gauge('database_queries_queued', 'Queries that wait for a connection.', ['pool']);
  }

  show(vitals: Vitals): void {
    this.#held.set(vitals.held);
    this.#running.set(vitals.running);
    this.#unrecorded.set(vitals.unrecorded);
    this.#slots.set(vitals.slots);
    this.#listeners.set(vitals.listeners);
    this.#behind.set(vitals.eventsBehindMs / 1_000);
    for (const [pool, { open, idle, queued }] of Object.entries(vitals.connections)) {
      this.#connections.set({ pool, state: 'busy' }, open - idle);
      this.#connections.set({ pool, state: 'idle' }, idle);
      this.#queued.set({ pool }, queued);
    }
    // What is not known is left out: a zero would be taken for one.
    if (vitals.waiting === undefined) this.#queue.remove();
    else this.#queue.set(vitals.waiting);
    this.#jobs.reset();
    for (const [state, count] of vitals.jobs ?? []) this.#jobs.set({ state: state.toLowerCase() }, count);
  }

  #gauge(name: string, help: string, labelNames: string[] = []): Gauge<string> {
    return new Gauge({ name: `carillon_${name}`, help, labelNames, registers: [this.#registry] });
  }
}
