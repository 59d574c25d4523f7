/**
 * One of several servers of the restart workload: the engine in a process of its own. It creates the jobs it is given, reports
 * what its handler started, and stops politely when it is told to, as at SIGTERM.
 */
import { createJobs, handlerName, type OpenEngine, openEngine } from '../engine/open-engine.ts';

export type MemberOrder =
  | { readonly do: 'start'; readonly databaseUrl: string; readonly slots: number }
  | { readonly do: 'create'; readonly first: number; readonly jobs: number }
  | { readonly do: 'stop' };

export type MemberNews =
  | { readonly is: 'ready' }
  | { readonly is: 'created'; readonly first: number; readonly problem?: string }
  /** Job numbers and their delays, in turn. */
  | { readonly is: 'started'; readonly starts: readonly number[] };

const reportMs = 50;

let open: OpenEngine | undefined;
let starts: number[] = [];
let isStopped = false;
const reporting = setInterval(report, reportMs);

process.once('disconnect', () => process.exit(isStopped ? 0 : 1));
process.on('message', (order) => void carryOut(order as MemberOrder));

async function carryOut(order: MemberOrder): Promise<void> {
  if (order.do === 'start') return start(order);
  if (order.do === 'create') return create(order);
  return stop();
}

async function start({ databaseUrl, slots }: { databaseUrl: string; slots: number }): Promise<void> {
  open = await openEngine({
    databaseUrl,
    slots,
    handler: ({ payload, scheduledAt }) => {
      starts.push(payload.index as number, Date.now() + 1 - scheduledAt.getTime());
    },
  });
  await open.start();
  tell({ is: 'ready' });
}

async function create({ first, jobs }: { first: number; jobs: number }): Promise<void> {
  try {
    await createJobs(open!.engine, jobs, (index) => ({
      name: `restart ${first + index}`,
      handler: handlerName,
      payload: { index: first + index },
      scheduleType: 'IMMEDIATE',
    }));
    tell({ is: 'created', first });
  } catch (error) {
    tell({ is: 'created', first, problem: (error as Error).message });
  }
}

async function stop(): Promise<void> {
  await open!.close();
  clearInterval(reporting);
  report();
  isStopped = true;
  process.disconnect();
}

function report(): void {
  if (starts.length > 0) tell({ is: 'started', starts });
  starts = [];
}

function tell(news: MemberNews): void {
  process.send?.(news);
}
