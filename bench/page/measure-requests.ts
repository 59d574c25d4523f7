/** Asks every request of the page again and again, a few at a time as a browser does, and tells how long each took. */
import type { Carillon } from '../../packages/client/src/index.ts';
import { percentile } from '../percentile.ts';
import { holdsAlways } from './answer-checks.ts';
import type { PageRequest } from './page-requests.ts';

export type RequestFigures = {
  readonly screen: string;
  readonly name: string;
  readonly call: string;
  readonly by: PageRequest['by'];
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
};

export type Clients = Readonly<Record<PageRequest['by'], Carillon>>;

/** One request at a time is what a person waits for; the first answers fill caches and prepare statements, and are not counted. */
const warmUps = 2;

export async function measureRequests(
  requests: readonly PageRequest[],
  options: {
    clients: Clients;
    times: number;
    /** Nothing was added to the store: answers are exactly what it was filled with. */
    isAsFilled: boolean;
    abort: AbortSignal;
  },
): Promise<RequestFigures[]> {
  const { clients, times, isAsFilled, abort } = options;
  const tookMs = requests.map(() => [] as number[]);
  // Round by round: what slows the machine for a while slows all requests alike.
  for (let round = 0; round < warmUps + times; round += 1) {
    for (const [i, request] of requests.entries()) {
      abort.throwIfAborted();
      const startedAt = performance.now();
      const answer = await ask(request, clients[request.by]);
      if (round >= warmUps) tookMs[i]!.push(performance.now() - startedAt);
      const isChecked = isAsFilled || holdsAlways(request.fault);
      const fault = isChecked ? request.fault?.(answer as never) : undefined;
      if (fault !== undefined) throw new Error(`not correct: ${nameOf(request)}: ${fault}`);
    }
  }
  return requests.map(({ screen, name, call, by }, i) => {
    const sorted = Float64Array.from(tookMs[i]!).toSorted();
    return {
      ...{ screen, name, call, by },
      p50Ms: percentile(sorted, 0.5),
      p95Ms: percentile(sorted, 0.95),
      maxMs: sorted.at(-1)!,
    };
  });
}

async function ask(request: PageRequest, client: Carillon): Promise<unknown> {
  try {
    return await request.send(client);
  } catch (error) {
    throw new Error(`${nameOf(request)} was answered with: ${(error as Error).message}`, { cause: error });
  }
}

export function nameOf({ screen, name, by }: Pick<PageRequest, 'screen' | 'name' | 'by'>): string {
  return `${screen}: ${name}${by === 'viewer' ? ' (viewer of one namespace)' : ''}`;
}
