/**
 * A worker as people write one, in a process of its own: it dials the server that it is told, and its handler does nothing but
 * note the start.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createWorker, type RunContext, type Worker } from '../../packages/worker/src/index.ts';
import { answerCalls } from '../call-process.ts';
import { handlerName } from '../engine/open-engine.ts';
import { type Delays, StartLedger } from '../engine/start-ledger.ts';
import { keptBytes } from '../kept-memory.ts';

export type WorkerCalls = typeof calls;

const startPatienceMs = 120_000;
const pollMs = 5;
const ledgers = new Map<string, StartLedger>();
let worker: Worker | undefined;
let problem: unknown;
let strangers = 0;

const calls = {
  async connect({ address, key, slots }: { address: string; key: string; slots: number }): Promise<void> {
    worker = createWorker({ servers: [address], key, slots, name: 'bench' });
    worker.handle(handlerName, note);
    worker.run().catch((error: unknown) => {
      problem = error;
    });
  },

  async expect(order: { batch: string; jobs: number; instantsMs?: readonly number[] }): Promise<void> {
    const { batch, jobs, instantsMs } = order;
    ledgers.set(batch, new StartLedger(jobs, instantsMs && Float64Array.from(instantsMs)));
  },

  /** When so many jobs of the batch were started. */
  async started({ batch, jobs }: { batch: string; jobs: number }): Promise<void> {
    const ledger = ledgerOf(batch);
    // The last start of all is noticed at once: waiting for it is part of what is measured.
    if (jobs === ledger.jobs) await ledger.allStartedWithin(startPatienceMs);
    const giveUpAtMs = performance.now() + startPatienceMs;
    while (ledger.jobs - ledger.missing < jobs) {
      if (problem !== undefined) throw problem;
      if (jobs === ledger.jobs || performance.now() > giveUpAtMs)
        throw new Error(`not correct: ${ledger.faults().join('; ')}`);
      await sleep(pollMs);
    }
  },

  async tell({ batch }: { batch: string }): Promise<{ firstStartAtMs: number; delays: Delays }> {
    const ledger = ledgerOf(batch);
    // Since 1970, with a fraction: other processes of this machine understand it.
    return { firstStartAtMs: performance.timeOrigin + ledger.firstStartAt, delays: ledger.delays() };
  },

  async kept(_order: null): Promise<number> {
    return keptBytes();
  },

  /** Then it starts nothing more. Answers what was not as it should be. */
  async stop(_order: null): Promise<readonly string[]> {
    await worker?.stop();
    if (problem !== undefined) throw problem;
    const faults = [...ledgers.values()].flatMap((ledger) => ledger.faults());
    return strangers === 0 ? faults : [...faults, `${strangers} starts of jobs nobody created`];
  },
};

answerCalls(calls);

function note({ payload, scheduledAt }: RunContext): void {
  const ledger = ledgers.get(payload.batch as string);
  if (ledger) ledger.started(payload.index as number, scheduledAt.getTime());
  else strangers += 1;
}

function ledgerOf(batch: string): StartLedger {
  const ledger = ledgers.get(batch);
  if (!ledger) throw new Error(`no batch ${batch} is expected`);
  return ledger;
}
