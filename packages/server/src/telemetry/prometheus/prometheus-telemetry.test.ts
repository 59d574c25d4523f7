import { readFile } from 'node:fs/promises';
import { ManualClock, silentLog } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { BASE_MS, SECOND_MS } from '../../storage/conformance/storage-under-test.ts';
import { StorageWorld, settlement } from '../../storage/conformance/storage-world.ts';
import { MemoryStorage } from '../../storage/memory/memory-storage.ts';
import { turns } from '../../testing/role-stage.fixture.ts';
import { countedLog } from './counted-log.ts';
import { measuredStorage } from './measured-storage.ts';
import { PrometheusTelemetry } from './prometheus-telemetry.ts';

const clock = new ManualClock();
let telemetry: PrometheusTelemetry;
let counted: number;
let countedWaiting: number;
/** What is asked of the database waits for it. */
let answers: Promise<void>;

beforeEach(() => {
  counted = 0;
  countedWaiting = 0;
  answers = Promise.resolve();
  telemetry = new PrometheusTelemetry({ clock });
  telemetry.watch({
    counts: () => ({
      ...{ workers: 2, slots: 256, running: 3, unrecorded: 6 },
      ...{ held: 1, listeners: 4, eventsBehindMs: 5_000 },
    }),
    connections: () => ({
      main: { open: 10, idle: 4, queued: 7 },
      heartbeats: { open: 2, idle: 2, queued: 0 },
    }),
    countJobs: async () => {
      counted += 1;
      await answers;
      return new Map([['SCHEDULED', 12]]);
    },
    countWaiting: async () => {
      countedWaiting += 1;
      await answers;
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
        'carillon_workers_connected 2',
        'carillon_runs_running 3',
        'carillon_outcomes_unrecorded 6',
        'carillon_event_listeners 4',
        'carillon_events_behind_seconds 5',
        'carillon_worker_slots 256',
        'carillon_database_connections{pool="main",state="busy"} 6',
        'carillon_database_connections{pool="main",state="idle"} 4',
        'carillon_database_connections{pool="heartbeats",state="busy"} 0',
        'carillon_database_connections{pool="heartbeats",state="idle"} 2',
        'carillon_database_queries_queued{pool="main"} 7',
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

  describe('while the database does not answer', () => {
    const COUNTED = /^carillon_(jobs|queue_depth)\b/;
    const countedLines = (lines: readonly string[]) => lines.filter((line) => COUNTED.test(line));
    let release: () => void;

    const hang = () => {
      ({ promise: answers, resolve: release } = Promise.withResolvers<void>());
    };

    async function linesWithinASecond(): Promise<string[]> {
      const lines = linesOf();
      for (let waitedMs = 0; waitedMs < 1_000; waitedMs += 100) {
        await turns();
        clock.advance(100);
      }
      return Promise.race([lines, turns().then(() => expect.fail('no answer within a second'))]);
    }

    test('are answered within a second, without what was never known', async () => {
      hang();
      const lines = await linesWithinASecond();
      expect(lines).toContain('carillon_runs_running 3');
      expect(countedLines(lines)).toEqual([]);
    });

    test('show what was last known, and at once when it has not answered for a while', async () => {
      await linesOf();
      hang();
      clock.advance(31_000);
      const known = ['carillon_jobs{state="scheduled"} 12', 'carillon_queue_depth 2'];
      expect(countedLines(await linesWithinASecond())).toEqual(known);
      expect(countedLines(await linesOf())).toEqual(known);
    });

    test('are asked for once at a time, and shown when the answer has come', async () => {
      hang();
      for (let i = 0; i < 5; i += 1) {
        await linesWithinASecond();
        clock.advance(60_000);
      }
      expect([counted, countedWaiting]).toEqual([1, 1]);
      release();
      await turns();
      expect(countedLines(await linesOf())).toHaveLength(2);
    });
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
    log.debug({ loop: 'scheduler' }, 'a pass failed again');
    log.child({}).error({}, 'worse');
    expect(await linesOf()).toEqual(
      expect.arrayContaining([
        'carillon_http_request_duration_seconds_bucket{le="0.005",method="GET",route="/api/jobs",status="200"} 1',
        'carillon_log_messages_total{level="warn"} 1',
        'carillon_log_messages_total{level="error"} 1',
        'carillon_loop_failures_total{loop="scheduler"} 2',
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
