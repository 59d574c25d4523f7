/** Has one measurement of the engine made in a process of its own; throws with a sentence when it failed. */
import { askProcess } from '../ask-process.ts';
import type { TurnFigures, TurnOrder } from '../fairness/measure-turn.ts';
import { jobCountOf } from './loads.ts';
import type { DelayFigures, DelayOrder } from './measure-delay.ts';
import type { DrainFigures, DrainOrder } from './measure-drain.ts';

const module = new URL('./engine-process.ts', import.meta.url);
// Slower than anything worth measuring: beyond it, it hangs.
const patienceMsMin = 180_000;
const patienceMsPerJob = 2;

export function askDelay(order: Omit<DelayOrder, 'measure'>, abort: AbortSignal): Promise<DelayFigures> {
  const jobs = order.warmUpJobs + jobCountOf(order.load);
  return ask<DelayFigures>({ ...order, measure: 'delay' }, jobs, abort);
}

export function askDrain(order: Omit<DrainOrder, 'measure'>, abort: AbortSignal): Promise<DrainFigures> {
  return ask<DrainFigures>({ ...order, measure: 'drain' }, order.warmUpJobs + order.jobs, abort);
}

export function askTurn(order: Omit<TurnOrder, 'measure'>, abort: AbortSignal): Promise<TurnFigures> {
  return ask<TurnFigures>({ ...order, measure: 'turn' }, order.waiting, abort);
}

async function ask<Figures extends { readonly ok: true }>(
  order: DelayOrder | DrainOrder | TurnOrder,
  jobs: number,
  abort: AbortSignal,
): Promise<Figures> {
  const patienceMs = patienceMsMin + jobs * patienceMsPerJob;
  const answer = await askProcess<Figures>({ module, order, patienceMs, abort });
  if (!answer.ok) throw new Error(answer.reason);
  return answer;
}
