/**
 * The outside of a Carillon installation in one process: clients that post jobs, and the server that the jobs call. Takes its
 * order from ../workloads/latency-http.ts and answers with the delays of each load.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { answerParent } from '../ask-process.ts';
import { jobCountOf, type Load, planLoad } from '../engine/loads.ts';
import { type Delays, StartLedger } from '../engine/start-ledger.ts';
import { postAll } from '../submit/http-load.ts';
import { postBatches } from '../submit/post-batches.ts';
import { Receiver } from './receiver.ts';

/** Posted ones are due when they come; planned ones were posted before and are due at their instant. */
export type HttpLoad =
  | { readonly kind: 'posted'; readonly perSecond: number; readonly seconds: number }
  | { readonly kind: 'planned'; readonly load: Load };

export type HttpDelayOrder = {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly warmUpJobs: number;
  readonly loads: readonly HttpLoad[];
};

/** From its scheduled instant to the call; of posted ones also from when the request was written. */
export type HttpDelays = Delays & { readonly jobs: number; readonly fromPost: Delays | null };

export type HttpDelayFigures = {
  readonly ok: true;
  readonly loads: readonly HttpDelays[];
  /** Jobs that were accepted in all, warm-up included. */
  readonly jobs: number;
};

const connections = 64;
const callPatienceMs = 60_000;
/** Between the last job that was created ahead and the first that is due. */
const restMs = 2_000;

answerParent<HttpDelayOrder, HttpDelayFigures>(async (order) => {
  const receiver = new Receiver();
  await receiver.start();
  try {
    await measurePosted(order, receiver, { jobs: order.warmUpJobs, perSecond: undefined });
    const loads: HttpDelays[] = [];
    for (const load of order.loads) {
      if (load.kind === 'planned') loads.push(await measurePlanned(order, receiver, load.load));
      else {
        const { perSecond, seconds } = load;
        loads.push(await measurePosted(order, receiver, { jobs: perSecond * seconds, perSecond }));
      }
    }
    // A call too many may come late.
    await sleep(restMs);
    const faults = receiver.faults();
    if (faults.length > 0) throw new Error(`not correct: ${faults.join('; ')}`);
    const jobs = loads.reduce((sum, load) => sum + load.jobs, order.warmUpJobs);
    return { ok: true, loads, jobs };
  } finally {
    await receiver.stop();
  }
});

async function measurePosted(
  { address, headers }: HttpDelayOrder,
  receiver: Receiver,
  { jobs, perSecond }: { jobs: number; perSecond: number | undefined },
): Promise<HttpDelays> {
  const ledger = new StartLedger(jobs);
  const fromPost = new StartLedger(jobs);
  const sentAtMs = new Float64Array(jobs);
  const urlOf = receiver.add(ledger, (index) => fromPost.started(index, sentAtMs[index]!));
  const posted = await postAll({
    address,
    path: '/api/jobs',
    headers,
    bodies: Array.from({ length: jobs }, (_, index) => JSON.stringify(jobCalling(urlOf(index)))),
    connections,
    perSecond,
    onSend: (index) => {
      sentAtMs[index] = Date.now();
    },
  });
  if (posted.accepted !== jobs) throw new Error(`not accepted: ${JSON.stringify(posted.refused)}`);
  await called(ledger);
  return { jobs, ...ledger.delays(), fromPost: fromPost.delays() };
}

async function measurePlanned(
  { address, headers }: HttpDelayOrder,
  receiver: Receiver,
  load: Load,
): Promise<HttpDelays> {
  const jobs = jobCountOf(load);
  const plan = planLoad(load, Date.now() + restMs + jobs);
  const ledger = new StartLedger(jobs, plan.instantsMs);
  const urlOf = receiver.add(ledger);
  await postBatches({
    ...{ address, headers, jobs },
    jobOf: (index) => ({
      ...jobCalling(urlOf(index)),
      schedule_type: 'FUTURE',
      schedule_time: new Date(plan.instantsMs[index]!).toISOString(),
    }),
  });
  if (Date.now() > plan.firstMs - restMs / 2)
    throw new Error('creating the jobs took so long that the first was due meanwhile');
  await sleep(plan.lastMs - Date.now());
  await called(ledger);
  return { jobs, ...ledger.delays(), fromPost: null };
}

function jobCalling(url: string): object {
  return { name: 'bench', handler: 'http', payload: { url } };
}

async function called(ledger: StartLedger): Promise<void> {
  await ledger.allStartedWithin(callPatienceMs);
  if (ledger.missing > 0) throw new Error(`not correct: ${ledger.faults().join('; ')}`);
}
