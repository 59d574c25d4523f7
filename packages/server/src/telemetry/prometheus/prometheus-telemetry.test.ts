import { readFile } from 'node:fs/promises';
import { ManualClock, silentLog } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { BASE_MS, SECOND_MS } from '../../storage/conformance/storage-under-test.ts';
import { StorageWorld, settlement } from '../../storage/conformance/storage-world.ts';
import { MemoryStorage } from '../../storage/memory/memory-storage.ts';
import { countedLog } from './counted-log.ts';
import { measuredStorage } from './measured-storage.ts';
import { PrometheusTelemetry } from './prometheus-telemetry.ts';

const clock = new ManualClock();
let telemetry: PrometheusTelemetry;
let counted: number;
let countedWaiting: number;

beforeEach(() => {
  counted = 0;
  countedWaiting = 0;
  telemetry = new PrometheusTelemetry({ clock });
  telemetry.watch({
    counts: () => ({ held: 1, running: 3, unrecorded: 6, listeners: 4, eventsBehindMs: 5_000 }),
    slots: 256,
    connections: () => ({ open: 10, idle: 4, queued: 7 }),
    countJobs: async () => {
      counted += 1;
      return new Map([['SCHEDULED', 12]]);
    },
    countWaiting: async () => {
      countedWaiting += 1;
      return 2;
    },
  });
});

const linesOf = async () => (await telemetry.report()).text.split('\n');

describe('the metrics', () => {
  test('tell what waits, runs and is open right now', async () => {
    expect(await linesOf()).toEqual(
      expect.arrayContaining([
        'carillon_jobs{state="scheduled"} 12',
        'carillon_due_rows_held 1',
        'carillon_queue_depth 2',
        'carillon_runs_running 3',
        'carillon_outcomes_unrecorded 6',
        'carillon_event_listeners 4',
        'carillon_events_behind_seconds 5',
        'carillon_worker_slots 256',
        'carillon_database_connections{state="busy"} 6',
        'carillon_database_queries_queued 7',
        'carillon_runs_total{outcome="succeeded"} 0',
      ]),
    );
  });

  test('count jobs at most twice a minute, however often somebody collects', async () => {
    await Promise.all([linesOf(), linesOf(), linesOf()]);
    expect(counted).toBe(1);
    clock.advance(29_000);
    await linesOf();
    expect(counted).toBe(1);
    clock.advance(2_000);
    await linesOf();
    expect(counted).toBe(2);
  });

  test('count what waits at most every five seconds, however often somebody collects', async () => {
    await Promise.all([linesOf(), linesOf(), linesOf()]);
    expect(countedWaiting).toBe(1);
    clock.advance(4_000);
    await linesOf();
    expect(countedWaiting).toBe(1);
    clock.advance(2_000);
    await linesOf();
    expect(countedWaiting).toBe(2);
  });

  test('tell runs by outcome, their delay and their duration, from what passes through the storage', async () => {
    const storage = measuredStorage(new MemoryStorage({ clock }), { telemetry, clock });
    const world = new StorageWorld(storage);
    await world.prepare();
    const [good, bad] = [await world.oneOff(), await world.oneOff()];
    const nowMs = BASE_MS + 2 * SECOND_MS;
    const again = { kind: 'again', atMs: nowMs, attempt: 2, crashes: 0 } as const;
    const ran = { startedAtMs: nowMs, endedAtMs: nowMs + 300 };
    const first = await world.claimOne(good.job, { nowMs });
    await world.settle(first, ran);
    await world.storage.leases.settle([settlement(first, ran)], nowMs);
    const failed = { ...ran, status: 'FAILED', error: 'no', next: again } as const;
    await world.settle(await world.claimOne(bad.job, { nowMs }), failed);
    expect(await linesOf()).toEqual(
      expect.arrayContaining([
        'carillon_runs_total{outcome="succeeded"} 1',
        'carillon_runs_total{outcome="retried"} 1',
        'carillon_run_start_delay_seconds_bucket{le="1"} 0',
        'carillon_run_start_delay_seconds_bucket{le="2.5"} 2',
        'carillon_run_start_delay_seconds_count 2',
        'carillon_run_duration_seconds_bucket{le="0.1"} 0',
        'carillon_run_duration_seconds_bucket{le="0.5"} 2',
        'carillon_run_duration_seconds_bucket{le="+Inf"} 2',
        'carillon_run_duration_seconds_sum 0.6',
        'carillon_insert_batch_size_count 2',
        'carillon_claim_batch_size_count 2',
        'carillon_settle_batch_size_count 3',
      ]),
    );
  });

  test('tell requests, warnings and failed passes', async () => {
    telemetry.requestAnswered({ method: 'GET', route: '/api/jobs', status: 200, elapsedMs: 3 });
    const log = countedLog(silentLog, telemetry);
    log.warn({ loop: 'scheduler' }, 'a pass failed');
    log.child({}).error({}, 'worse');
    expect(await linesOf()).toEqual(
      expect.arrayContaining([
        'carillon_http_request_duration_seconds_bucket{le="0.005",method="GET",route="/api/jobs",status="200"} 1',
        'carillon_log_messages_total{level="warn"} 1',
        'carillon_log_messages_total{level="error"} 1',
        'carillon_loop_failures_total{loop="scheduler"} 1',
      ]),
    );
  });

  test('are all in docs/metrics.md, and nothing else is', async () => {
    const page = await readFile(new URL('../../../../../docs/metrics.md', import.meta.url), 'utf8');
    const documented = [...page.matchAll(/^\| `([a-z_]+)`/gm)].map(([, name]) => name);
    const told = (await linesOf()).flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? []);
    expect([...documented].sort()).toEqual([...told].sort());
  });
});
