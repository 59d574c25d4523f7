/** Has one measurement of the engine made in a process of its own; throws with a sentence when it failed. */
import { askProcess } from '../ask-process.ts';
import type { TurnFigures, TurnOrder } from '../fairness/measure-turn.ts';
import type { Store } from '../stores.ts';
import type { CarillonRun } from '../workloads.ts';
import { jobCountOf } from './loads.ts';
import type { DelayFigures, DelayOrder } from './measure-delay.ts';
import type { DrainFigures, DrainOrder } from './measure-drain.ts';

const module = new URL('./engine-process.ts', import.meta.url);
// Slower than anything worth measuring: beyond it, it hangs.
const patienceMsMin = 180_000;
const patienceMsPerJob = 2;

/** What the workload has to say: where the store is, is known from the run. */
type Asked<Order> = Omit<Order, 'measure' | 'databaseUrl' | 'storePid'>;

export function askDelay(run: CarillonRun, store: Store, order: Asked<DelayOrder>): Promise<DelayFigures> {
  return ask(run, store, { ...order, measure: 'delay' }, order.warmUpJobs + jobCountOf(order.load));
}

export function askDrain(run: CarillonRun, store: Store, order: Asked<DrainOrder>): Promise<DrainFigures> {
  return ask(run, store, { ...order, measure: 'drain' }, order.warmUpJobs + order.jobs);
}

export function askTurn(run: CarillonRun, store: Store, order: Asked<TurnOrder>): Promise<TurnFigures> {
  return ask(run, store, { ...order, measure: 'turn' }, order.waiting);
}

function ask<Figures extends { readonly ok: true }>(
  { abort, postgresPid }: CarillonRun,
  { env: { databaseUrl } }: Store,
  order: object,
  jobs: number,
): Promise<Figures> {
  return askProcess<Figures>({
    module,
    order: { ...order, databaseUrl, storePid: postgresPid },
    patienceMs: patienceMsMin + jobs * patienceMsPerJob,
    abort,
  });
}
