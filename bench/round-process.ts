/**
 * The process of one round of one system. Load generator, handlers and system share it, as they share the two cores: the
 * same for all. A process per round gives every system a heap and a JIT of its own, and nothing of its neighbours'.
 * Takes its orders from run-round.ts.
 */
import { answerParent } from './answer-parent.ts';
import type { RoundOrder, RoundResult } from './run-round.ts';
import { createEmptyStore } from './stores.ts';
import { systemNamed } from './systems.ts';
import { workloadNamed } from './workloads.ts';

answerParent(playRound);

async function playRound(order: RoundOrder): Promise<RoundResult> {
  // The warm-up is the same workload, checked as strictly, on a store of its own: it warms the code, not the tables.
  await playOnce(order, order.warmUpJobs);
  return playOnce(order, order.jobs);
}

async function playOnce(order: RoundOrder, jobCount: number): Promise<RoundResult> {
  const entry = systemNamed(order.system);
  const store = await createEmptyStore(entry.store, order.urls);
  try {
    const system = await entry.create();
    const figures = await workloadNamed(order.workload).run({
      system,
      env: store.env,
      storePid: order.storePid,
      jobCount,
      settleStore: () => store.settle(),
    });
    return { ok: true, version: system.version, keepsHistory: system.keepsHistory, figures };
  } finally {
    await store.drop();
  }
}
