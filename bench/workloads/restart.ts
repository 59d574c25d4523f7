/**
 * Three servers on one database are restarted one after the other while jobs arrive: nothing is lost, nothing is doubled, and
 * a restart costs the start delay no more than the promise allows.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../tests/support/eventually.ts';
import { countJobs, countSucceeded, countUnfinished } from '../engine/store-facts.ts';
import { bound, findingsOf } from '../findings.ts';
import { percentile } from '../percentile.ts';
import { Member } from '../restart/member.ts';
import { onConnection, onDatabase, type Store } from '../stores.ts';
import { count, milliseconds } from '../text-table.ts';
import type { CarillonOutcome, CarillonRun, CarillonWorkload } from '../workloads.ts';

const SERVERS = 3;
const BATCHES_PER_SECOND = 50;
const p99 = bound(
  'A9',
  'rolling restart of three servers under load: p99 of the start delay',
  { below: 2_000 },
  milliseconds,
);

export const restart: CarillonWorkload = {
  name: 'restart',
  summary:
    'three servers restarted one after the other under 5,000 jobs/s: start delay, nothing lost or doubled',

  async run(run): Promise<CarillonOutcome> {
    const { settings, log } = run;
    const perSecond = settings.quick ? 500 : 5_000;
    const table: string[][] = [];
    let figures = {};
    const measureRestarts = async () => {
      const measured = await onDatabase(run.urls, (store) => measure(run, store, perSecond));
      figures = measured;
      const { jobs, p50Ms, p99Ms, maxMs, restartsMs } = measured;
      log(`restart: ${jobs} jobs, p50 ${p50Ms} ms, p99 ${p99Ms} ms, max ${maxMs} ms`);
      const away = restartsMs.map((ms) => milliseconds(Math.round(ms))).join(', ');
      table.push(
        ['jobs', 'p50', 'p99', 'max', 'each server away for', 'started once'],
        [count(jobs), ...[p50Ms, p99Ms, maxMs].map(milliseconds), away, 'all'],
      );
      return [p99.judge(p99Ms)];
    };
    const onFailed = (reason: string) => log(`restart: FAILED: ${reason}`);
    const findings = await findingsOf([p99], measureRestarts, onFailed);
    return {
      method: `${SERVERS} engines as processes of their own on one database, ${count(perSecond)} jobs/s given in turn to those that are up, each due at once. One after the other is stopped as at SIGTERM and started again. From a job's instant until a handler was called with it; every job was started exactly once and is recorded.`,
      machineParts: ['node', 'postgres'],
      table,
      findings,
      figures,
    };
  },
};

async function measure({ settings, abort }: CarillonRun, store: Store, perSecond: number) {
  const { databaseUrl } = store.env;
  const delays = new Map<number, number>();
  let doubled = 0;
  const onStarts = (starts: readonly number[]) => {
    for (let i = 0; i < starts.length; i += 2) {
      if (delays.has(starts[i]!)) doubled += 1;
      else delays.set(starts[i]!, starts[i + 1]!);
    }
  };
  const members = Array.from(
    { length: SERVERS },
    () => new Member({ databaseUrl, slots: settings.slots, onStarts }),
  );
  try {
    for (const member of members) await member.start();
    // Tables of a few rows have no statistics yet; those of an installation in use do.
    await new Load(members, perSecond).during(() => sleep(5_000));
    await store.settle();
    delays.clear();

    const load = new Load(members, perSecond);
    /** How long each server was away. */
    const restartsMs: number[] = [];
    await load.during(async () => {
      for (const member of members) {
        abort.throwIfAborted();
        await sleep(settings.quick ? 1_000 : 8_000);
        const stoppedAt = performance.now();
        await member.stop();
        await member.start();
        restartsMs.push(performance.now() - stoppedAt);
      }
      await sleep(settings.quick ? 1_000 : 8_000);
    });
    await eventually(
      async () => {
        const unfinished = await onConnection(databaseUrl, countUnfinished);
        if (unfinished > 0) throw new Error(`${unfinished} runs are unfinished`);
      },
      { withinMs: 60_000 },
    );
    for (const member of members) await member.stop();

    const faults: string[] = [];
    if (delays.size !== load.jobs) faults.push(`${delays.size} of ${load.jobs} jobs were started`);
    if (doubled > 0) faults.push(`${doubled} were started more than once`);
    const [recorded, created] = await onConnection(databaseUrl, (client) =>
      Promise.all([countSucceeded(client), countJobs(client)]),
    );
    if (recorded !== created) faults.push(`${recorded} of ${created} jobs are recorded as succeeded`);
    if (faults.length > 0) throw new Error(`not correct: ${faults.join('; ')}`);
    const sorted = Int32Array.from(delays.values()).sort();
    return {
      jobs: load.jobs,
      p50Ms: percentile(sorted, 0.5),
      p99Ms: percentile(sorted, 0.99),
      maxMs: sorted.at(-1)!,
      restartsMs,
    };
  } finally {
    for (const member of members) member.kill();
  }
}

/** Batches at a steady pace, each to the next server that is up. */
class Load {
  readonly #members: readonly Member[];
  readonly #batch: number;
  #isOver = false;
  jobs = 0;

  constructor(members: readonly Member[], perSecond: number) {
    this.#members = members;
    this.#batch = perSecond / BATCHES_PER_SECOND;
  }

  async during(act: () => Promise<unknown>): Promise<void> {
    const sending = this.#send();
    try {
      await act();
    } finally {
      this.#isOver = true;
      await sending;
    }
  }

  async #send(): Promise<void> {
    const startedAt = performance.now();
    const creating: Promise<void>[] = [];
    for (let batches = 0; !this.#isOver; batches += 1) {
      await sleep(Math.max(0, startedAt + (batches * 1_000) / BATCHES_PER_SECOND - performance.now()));
      const up = this.#members.filter(({ isUp }) => isUp);
      creating.push(up[batches % up.length]!.create(this.jobs, this.#batch));
      this.jobs += this.#batch;
    }
    await Promise.all(creating);
  }
}
