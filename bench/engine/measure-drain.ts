/**
 * What a job costs over a store that is not empty: submit jobs while the engine is down, then let it claim, run and record
 * them all. Counted from the first start: how long the engine takes to come up is another figure.
 */
import { ownedBy, type Tenants, tenantOf } from '../fairness/tenants.ts';
import { type CoreUsPerJob, coreUsPerJob, type Memory, readCpu, readMemory } from '../process-use.ts';
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

export type DrainFigures = {
  readonly ok: true;
  readonly submitPerSecond: number;
  readonly drainPerSecond: number;
  readonly drainCoreUs: CoreUsPerJob | null;
  readonly atEnd: Memory;
};

export async function measureDrain(
  order: DrainOrder,
  settleStore: () => Promise<void>,
): Promise<DrainFigures> {
  await drainOnce(order, order.warmUpJobs, settleStore);
  return drainOnce(order, order.jobs, settleStore);
}

async function drainOnce(
  order: DrainOrder,
  jobs: number,
  settleStore: () => Promise<void>,
): Promise<DrainFigures> {
  const subject = await Subject.open(order);
  try {
    const { tenants } = order;
    if (tenants) await subject.makeTenants(tenants);
    const submittedAt = performance.now();
    const batch = await subject.createImmediate(jobs, (index) =>
      tenants ? ownedBy(tenants.kind, tenantOf(index, { jobs, count: tenants.count })) : {},
    );
    const submitSeconds = (performance.now() - submittedAt) / 1_000;
    await settleStore();

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
      ok: true,
      submitPerSecond: jobs / submitSeconds,
      drainPerSecond: jobs / drainSeconds,
      drainCoreUs,
      atEnd,
    };
  } finally {
    await subject.close();
  }
}
