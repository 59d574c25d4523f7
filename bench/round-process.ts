/**
 * The process of one round of one system. Load generator, handlers and system share it, as they share the two cores: the
 * same for all. A process per round gives every system a heap and a JIT of its own, and nothing of its neighbours'.
 * Takes its orders from play-rounds.ts.
 */
import { answerParent } from './ask-process.ts';
import type { PlayedRound, RoundOrder } from './play-rounds.ts';
import { createEmptyStore } from './stores.ts';
import { systemNamed } from './systems.ts';
import { drain } from './workloads/drain.ts';

answerParent(async (order: RoundOrder) => {
  // The warm-up is the same workload, checked as strictly, on a store of its own: it warms the code, not the tables.
  await playOnce(order, order.warmUpJobs);
  return playOnce(order, order.jobs);
});

async function playOnce(order: RoundOrder, jobCount: number): Promise<PlayedRound> {
  const entry = systemNamed(order.system);
  const store = await createEmptyStore(entry.store, order.urls);
  try {
    const system = await entry.create();
    const { storePid } = order;
    const settleStore = () => store.settle();
    const figures = await drain.run({ system, env: store.env, storePid, jobCount, settleStore });
    return { ok: true, version: system.version, keepsHistory: system.countHistory !== undefined, figures };
  } finally {
    await store.drop();
  }
}
