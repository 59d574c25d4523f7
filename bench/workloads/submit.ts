/**
 * Submits one by one over HTTP (P2): each an authenticated POST that is answered when its job is durable. Held against the
 * least that such a server can cost (bare Fastify with group commit) in the same run, interleaved, and then at a fixed
 * rate while the same server executes what it takes in.
 */
import { eventually } from '../../tests/support/eventually.ts';
import { askProcess } from '../ask-process.ts';
import { askStore, countJobs, countSucceeded } from '../engine/store-facts.ts';
import { median } from '../median.ts';
import { type Finding, failed, judged } from '../report.ts';
import { keyHeaders } from '../servers/carillon-process.ts';
import { onDatabase } from '../stores.ts';
import type { ExecutionFigures } from '../submit/carillon-server.ts';
import type { SubmitFigures, SubmitOrder } from '../submit/load-process.ts';
import { type ServerModule, type Serving, serve } from '../submit/serve.ts';
import { count, milliseconds } from '../text-table.ts';
import type { CarillonOutcome, CarillonRun, CarillonWorkload } from '../workloads.ts';

const loadModule = new URL('../submit/load-process.ts', import.meta.url);
const connections = 64;
const nextYear = new Date(Date.now() + 365 * 24 * 3_600_000).toISOString();
const later = { name: 'bench', schedule_type: 'FUTURE', schedule_time: nextYear, handler: 'noop' };
const atOnce = { name: 'bench', handler: 'noop' };
const perSecondWhileExecuting = 10_000;

const share = { bar: 'P2', what: 'share of bare Fastify', limit: '≥ 70 %' };
const rate = { bar: 'P2', what: 'submits/s while the same server executes them', limit: '≥ 10,000' };
const delay = { bar: 'P3', what: 'meanwhile, due → started: p99', limit: '< 1,000 ms' };

type Figures = {
  readonly bare: SubmitFigures[];
  readonly carillon: SubmitFigures[];
  executing?: SubmitFigures & { readonly execution: ExecutionFigures };
};

export const submit: CarillonWorkload = {
  name: 'submit',
  summary:
    'authenticated one-by-one POSTs, durable on 201, beside bare Fastify; and 10,000/s while executing',

  async run(run): Promise<CarillonOutcome> {
    const figures: Figures = { bare: [], carillon: [] };
    const findings: Finding[] = [];
    try {
      for (let round = 0; round < run.settings.rounds && !run.abort.aborted; round += 1) {
        figures.bare.push(await measureBare(run));
        figures.carillon.push(await measureCarillon(run));
        run.log(
          `submit: bare ${perSecond(figures.bare.at(-1)!)}/s, carillon ${perSecond(figures.carillon.at(-1)!)}/s`,
        );
      }
      const ratio = median(figures.carillon.map(rateOf)) / median(figures.bare.map(rateOf));
      findings.push(judged(share, `${Math.round(ratio * 100)} %`, ratio >= 0.7));
    } catch (error) {
      findings.push(failed(share, error));
    }
    try {
      const executing = await measureExecuting(run);
      figures.executing = executing;
      const { p99Ms } = executing.execution;
      findings.push(
        judged(rate, count(Math.round(rateOf(executing))), rateOf(executing) >= perSecondWhileExecuting),
      );
      const measured = `${milliseconds(p99Ms)} at ${count(rateOf(executing))}/s`;
      findings.push(judged(delay, measured, p99Ms < 1_000));
    } catch (error) {
      findings.push(failed(rate, error), failed(delay, error));
    }
    return {
      method: `${connections} connections, each with one request under way, from a process of their own on the same cores; jobs of about 100 bytes. Each 201 is counted in the database before any figure is given. Bare Fastify parses the same JSON and inserts into a table with one index, in groups; Carillon checks an API key, validates, writes job, schedule and audit entry. The last line submits at a steady ${count(perSecondWhileExecuting)}/s while the server executes each job at once.`,
      machineParts: ['node-apart', 'postgres'],
      table: tableOf(figures),
      findings,
      figures,
    };
  },
};

function measureBare(run: CarillonRun): Promise<SubmitFigures> {
  return onServer(run, 'bare-server.ts', ({ address }, databaseUrl) =>
    submitAll(run, databaseUrl, { address, path: '/jobs', headers: {}, job: later, perSecond: undefined }),
  );
}

function measureCarillon(run: CarillonRun): Promise<SubmitFigures> {
  return onServer(run, 'carillon-server.ts', async (server, databaseUrl) => {
    const { address } = server;
    const headers = await keyHeaders(server);
    const order = { address, path: '/api/jobs', headers, job: later, perSecond: undefined };
    return submitAll(run, databaseUrl, order);
  });
}

function measureExecuting(run: CarillonRun): Promise<SubmitFigures & { execution: ExecutionFigures }> {
  return onServer(run, 'carillon-server.ts', async (server, databaseUrl) => {
    const { address } = server;
    const headers = await keyHeaders(server);
    const order = { address, path: '/api/jobs', headers, job: atOnce, perSecond: perSecondWhileExecuting };
    const figures = await submitAll(run, databaseUrl, order);
    const { total } = jobsOf(run);
    await eventually(
      async () => {
        const recorded = await askStore(databaseUrl, countSucceeded);
        if (recorded !== total) throw new Error(`${recorded} of ${total} runs are recorded`);
      },
      { withinMs: 60_000 },
    );
    const execution = await server.executed();
    if (execution.ran !== total) throw new Error(`${execution.ran} of ${total} jobs were executed`);
    return { ...figures, execution };
  });
}

function onServer<T>(
  { urls }: CarillonRun,
  module: ServerModule,
  measure: (server: Serving, databaseUrl: string) => Promise<T>,
): Promise<T> {
  return onDatabase(urls, async ({ env: { databaseUrl } }) => {
    const server = await serve(module, databaseUrl);
    try {
      return await measure(server, databaseUrl);
    } finally {
      await server.stop();
    }
  });
}

function jobsOf({ settings }: CarillonRun): { jobs: number; warmUpJobs: number; total: number } {
  const [jobs, warmUpJobs] = settings.quick ? [10_000, 2_000] : [100_000, 20_000];
  return { jobs, warmUpJobs, total: jobs + warmUpJobs };
}

async function submitAll(
  run: CarillonRun,
  databaseUrl: string,
  target: Pick<SubmitOrder, 'address' | 'path' | 'headers' | 'job' | 'perSecond'>,
): Promise<SubmitFigures> {
  const { jobs, warmUpJobs, total } = jobsOf(run);
  const order: SubmitOrder = { ...target, jobs, warmUpJobs, connections };
  const { abort } = run;
  const figures = await askProcess<SubmitFigures>({ module: loadModule, order, patienceMs: 180_000, abort });
  if (figures.accepted !== jobs) throw new Error(`not accepted: ${JSON.stringify(figures.refused)}`);
  const stored = await askStore(databaseUrl, countJobs);
  if (stored !== total) throw new Error(`${stored} jobs are stored of ${total} that were accepted`);
  return figures;
}

function rateOf({ accepted, seconds }: SubmitFigures): number {
  return accepted / seconds;
}

function perSecond(figures: SubmitFigures): string {
  return count(Math.round(rateOf(figures)));
}

function tableOf({ bare, carillon, executing }: Figures): string[][] {
  const rowOf = (name: string, rounds: readonly SubmitFigures[]) => [
    name,
    count(Math.round(median(rounds.map(rateOf)))),
    milliseconds(median(rounds.map((round) => round.p50Ms))),
    milliseconds(median(rounds.map((round) => round.p99Ms))),
    '–',
  ];
  const rows = [['server', 'submits/s', 'answered p50', 'p99', 'due → started p50 / p99']];
  if (bare.length > 0) rows.push(rowOf('bare Fastify', bare));
  if (carillon.length > 0) rows.push(rowOf('carillon', carillon));
  if (executing) {
    const { p50Ms, p99Ms } = executing.execution;
    rows.push([
      ...rowOf('carillon, executing', [executing]).slice(0, 4),
      `${milliseconds(p50Ms)} / ${milliseconds(p99Ms)}`,
    ]);
  }
  return rows;
}
