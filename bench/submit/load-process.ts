/** The load generator in a process of its own, as clients are. */
import { answerParent } from '../ask-process.ts';
import { type LoadFigures, postAll } from './http-load.ts';

/** Bodies are made here: a hundred thousand of them are no message to send. */
export type SubmitOrder = {
  readonly address: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly jobs: number;
  readonly warmUpJobs: number;
  readonly job: Readonly<Record<string, unknown>>;
  readonly connections: number;
  readonly perSecond: number | undefined;
};

export type SubmitFigures = LoadFigures & { readonly ok: true };

/** Few enough that none is refused. */
const WARM_UP_CONNECTIONS_MAX = 64;

answerParent<SubmitOrder, SubmitFigures>(async ({ jobs, warmUpJobs, job, perSecond, ...order }) => {
  const bodies = (count: number, from: number) =>
    Array.from({ length: count }, (_, i) => JSON.stringify({ ...job, payload: { index: from + i } }));
  const warmUp = await postAll({
    ...order,
    connections: Math.min(order.connections, WARM_UP_CONNECTIONS_MAX),
    perSecond: undefined,
    bodies: bodies(warmUpJobs, jobs),
  });
  if (warmUp.accepted !== warmUpJobs) throw new Error(`refused: ${JSON.stringify(warmUp.refused)}`);
  return { ok: true, ...(await postAll({ ...order, perSecond, bodies: bodies(jobs, 0) })) };
});
