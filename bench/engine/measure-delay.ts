/**
 * Due → started: an engine that is up and warm gets a load created ahead of time, and its handler notes when each job
 * starts. On the way there it measures how long the engine takes until it can run jobs: a job that is due already waits
 * in the store, and the engine is ready when it owns its shards, has read them, and that job has started.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../tests/support/eventually.ts';
import { readMemory } from '../process-use.ts';
import { jobCountOf, type Load, planLoad } from './loads.ts';
import { Subject } from './subject.ts';

export type DelayOrder = {
  readonly measure: 'delay';
  readonly databaseUrl: string;
  readonly slots: number;
  readonly warmUpJobs: number;
  readonly load: Load;
};

export type DelayFigures = Awaited<ReturnType<typeof measureDelay>>;

const startPatienceMs = 60_000;
/** Jobs are created at 4,000 a second at least, on any machine worth measuring, and then a moment of rest follows. */
const restMs = 2_000;

export async function measureDelay(order: DelayOrder) {
  const subject = await Subject.open(order);
  try {
    const probe = await subject.createImmediate(1);
    const startedAt = performance.now();
    await subject.start();
    await probe.ledger.allStartedWithin(startPatienceMs);
    const readyAt = performance.now();
    // Runs may start before the first beat has taken over the shards.
    await eventually(
      async () => {
        const reasons = await subject.unready();
        if (reasons.length > 0) throw new Error(`jobs start, yet it is not ready: ${reasons.join('; ')}`);
      },
      { withinMs: startPatienceMs },
    );
    const atReady = readMemory();

    const warmUp = await subject.createImmediate(order.warmUpJobs);
    await warmUp.ledger.allStartedWithin(startPatienceMs);
    await subject.recorded();

    const batch = await createAhead(subject, order.load);
    await subject.recorded();
    await subject.stop();
    const atEnd = readMemory();
    for (const each of [probe, warmUp, batch]) await subject.assertCorrect(each);
    return {
      ok: true as const,
      jobs: batch.ledger.jobs,
      ...batch.ledger.delays(),
      /** From the start of the engine. */
      readyMs: readyAt - startedAt,
      /** From the start of the process, its modules included. */
      processReadyMs: readyAt,
      atReady,
      atEnd,
    };
  } finally {
    await subject.close();
  }
}

async function createAhead(subject: Subject, load: Load) {
  const jobs = jobCountOf(load);
  const plan = planLoad(load, Date.now() + restMs + jobs / 4);
  const batch = await subject.create({ jobs, instantsMs: plan.instantsMs, scheduleOf: plan.scheduleOf });
  if (plan.firstMs - Date.now() < restMs / 2)
    throw new Error('creating the jobs took so long that the first was due meanwhile');
  await sleep(plan.lastMs - Date.now());
  await batch.ledger.allStartedWithin(startPatienceMs);
  return batch;
}
