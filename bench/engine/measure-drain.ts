/**
 * What a job costs over a store that is not empty: submit jobs while the engine is down, then let it claim, run and record
 * them all. Counted from the first start: how long the engine takes to come up is another figure.
 */
import { ownedBy, type Tenants, tenantOf } from '../fairness/tenants.ts';
import { coreUsPerJob, readCpu, readMemory } from '../process-use.ts';
import { settleDatabase } from '../stores.ts';
import type { RunShape } from './run-shape.ts';
import { Subject } from './subject.ts';

export type DrainOrder = {
  readonly measure: 'drain';
  readonly databaseUrl: string;
  readonly slots: number;
  readonly warmUpJobs: number;
  readonly jobs: number;
  /** Plain, unless told otherwise. */
  readonly shape?: RunShape;
  /** Whose jobs they are; nobody's, unless told. */
  readonly tenants?: Tenants;
  /** Of the server that holds the store. */
  readonly storePid: number;
};

export type DrainFigures = Awaited<ReturnType<typeof drainOnce>>;

export async function measureDrain(order: DrainOrder): Promise<DrainFigures> {
  await drainOnce(order, order.warmUpJobs);
  return drainOnce(order, order.jobs);
}

async function drainOnce(order: DrainOrder, jobs: number) {
  const { databaseUrl, tenants } = order;
  const subject = await Subject.open(order);
  try {
    if (tenants) await subject.makeTenants(tenants);
    const submittedAt = performance.now();
    const batch = await subject.createImmediate(jobs, (index) =>
      tenants ? ownedBy(tenants.kind, tenantOf(index, { jobs, count: tenants.count })) : {},
    );
    const submitSeconds = (performance.now() - submittedAt) / 1_000;
    await settleDatabase(databaseUrl);

    const before = readCpu(order);
    await subject.start();
    await batch.ledger.allStarted;
    await subject.recorded();
    const drainSeconds = (performance.now() - batch.ledger.firstStartAt) / 1_000;
    const drainCoreUs = coreUsPerJob(before, readCpu(order), jobs);
    await subject.stop();
    const atEnd = readMemory();
    await subject.assertCorrect(batch);
    return {
      ok: true as const,
      submitPerSecond: jobs / submitSeconds,
      drainPerSecond: jobs / drainSeconds,
      drainCoreUs,
      atEnd,
    };
  } finally {
    await subject.close();
  }
}
