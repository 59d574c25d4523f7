/** Gauges of the current state, set all together when a collector reads them. */
import { Gauge, type Registry } from 'prom-client';
import type { Vitals } from '../telemetry.ts';

const GAUGES = {
  jobs: 'Jobs by state, estimated from a sample where there are many; at most 30 s old.',
  queue_depth: 'Runs whose instant has come and that wait for a slot, in all servers; counted up to 100,000.',
  due_rows_held: 'Schedules and retries that lie ahead, held in memory by this server.',
  workers_connected: 'Workers that this server hands runs to: its own, and those that are connected to it.',
  runs_running: 'Runs that the workers of this server execute right now.',
  outcomes_unrecorded:
    'Runs of the workers of this server that have ended and whose outcome is not recorded yet.',
  worker_slots: 'Runs that the workers of this server can execute at the same time.',
  event_listeners: 'Readers that follow the events of this server.',
  events_behind_seconds:
    'How far live readers of events are behind, also where events wait for an open transaction; 0 when they are not.',
  database_connections: 'All connections of this server to the database, by what they are kept for.',
  database_queries_queued: 'Queries that wait for a connection.',
} as const;
type GaugeName = keyof typeof GAUGES;

const LABELS: Partial<Record<GaugeName, string[]>> = {
  jobs: ['state'],
  database_connections: ['pool', 'state'],
  database_queries_queued: ['pool'],
};

export class VitalGauges {
  readonly #gauges: Record<GaugeName, Gauge<string>>;

  constructor(registry: Registry) {
    const gauges = (Object.keys(GAUGES) as GaugeName[]).map((name) => {
      const labelNames = LABELS[name] ?? [];
      const options = { name: `carillon_${name}`, help: GAUGES[name], labelNames, registers: [registry] };
      return [name, new Gauge(options)] as const;
    });
    this.#gauges = Object.fromEntries(gauges) as Record<GaugeName, Gauge<string>>;
  }

  show(vitals: Vitals): void {
    const gauges = this.#gauges;
    gauges.due_rows_held.set(vitals.held);
    gauges.workers_connected.set(vitals.workers);
    gauges.runs_running.set(vitals.running);
    gauges.outcomes_unrecorded.set(vitals.unrecorded);
    gauges.worker_slots.set(vitals.slots);
    gauges.event_listeners.set(vitals.listeners);
    gauges.events_behind_seconds.set(vitals.eventsBehindMs / 1_000);
    for (const [pool, { open, idle, queued }] of Object.entries(vitals.connections)) {
      gauges.database_connections.set({ pool, state: 'busy' }, open - idle);
      gauges.database_connections.set({ pool, state: 'idle' }, idle);
      gauges.database_queries_queued.set({ pool }, queued);
    }
    // An unknown value is left out: a zero would be taken for a count.
    if (vitals.waiting === undefined) gauges.queue_depth.remove();
    else gauges.queue_depth.set(vitals.waiting);
    gauges.jobs.reset();
    for (const [state, count] of vitals.jobs ?? []) gauges.jobs.set({ state: state.toLowerCase() }, count);
  }
}
