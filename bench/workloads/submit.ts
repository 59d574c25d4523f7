/**
 * Submits one by one over HTTP (P2): each an authenticated POST that is answered when its job is durable. Held against the
 * least that such a server can cost (bare Fastify with group commit) in the same run, interleaved; then at half of that rate
 * while the same server executes what it takes in; and then with more offered than any server could take.
 */
import { eventually } from '../../tests/support/eventually.ts';
import { askProcess } from '../ask-process.ts';
import { countJobs, countSucceeded } from '../engine/store-facts.ts';
import { bound, findingsOf } from '../findings.ts';
import { median } from '../median.ts';
import { onConnection, onDatabase } from '../stores.ts';
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
/** Of what bare Fastify took in the same run. */
const offered = { whileExecuting: 0.5, tooMuch: 2 };
/** So many that there is a free one for each request that is planned, until the server is about a second behind. */
const manyConnections = 4_000;

const share = bound('P2', 'share of bare Fastify', { atLeast: 70 }, (percent) => `${Math.round(percent)} %`);
const executingShare = bound(
  'P2',
  'share of it while the same server executes them',
  { atLeast: 45 },
  (percent) => `${Math.round(percent)} %`,
);
const acceptedDelay = bound(
  'P2',
  'twice what bare Fastify takes is offered: accepted ones answered, p99',
  { below: 500 },
  milliseconds,
);
const delay = bound('P3', 'meanwhile, due → started: p99', { below: 1_000 }, milliseconds);

type Figures = {
  readonly bare: SubmitFigures[];
  readonly carillon: SubmitFigures[];
  executing?: SubmitFigures & { readonly execution: ExecutionFigures };
  overloaded?: SubmitFigures;
};

export const submit: CarillonWorkload = {
  name: 'submit',
  summary:
    'authenticated one-by-one POSTs, durable on 201, beside bare Fastify; while executing; and offered too much',

  async run(run): Promise<CarillonOutcome> {
    const figures: Figures = { bare: [], carillon: [] };
    const besideBare = await findingsOf([share], async () => {
      for (let round = 0; round < run.settings.rounds && !run.abort.aborted; round += 1) {
        const bare = await measureSubmits(run, 'bare-server.ts');
        figures.bare.push(bare);
        const carillon = await measureSubmits(run, 'carillon-server.ts');
        figures.carillon.push(carillon);
        run.log(`submit: bare ${count(rateOf(bare))}/s, carillon ${count(rateOf(carillon))}/s`);
      }
      return [share.judge((medianRate(figures.carillon) / medianRate(figures.bare)) * 100)];
    });
    const bareRate = medianRate(figures.bare);
    const whileExecuting = await findingsOf([executingShare, delay], async () => {
      const executing = await measureExecuting(run, bareRate * offered.whileExecuting);
      figures.executing = executing;
      const perSecond = rateOf(executing);
      const { p99Ms } = executing.execution;
      return [
        executingShare.judge((perSecond / bareRate) * 100),
        delay.judge(p99Ms, `${milliseconds(p99Ms)} at ${count(perSecond)}/s`),
      ];
    });
    const whenOverloaded = await findingsOf([acceptedDelay], async () => {
      const overloaded = await measureOverload(run, bareRate * offered.tooMuch);
      figures.overloaded = overloaded;
      const refused = Object.values(overloaded.refused).reduce((sum, one) => sum + one, 0);
      const { acceptedP99Ms } = overloaded;
      const measured = `${milliseconds(acceptedP99Ms)}; ${count(overloaded.accepted)} accepted, ${count(refused)} refused`;
      return [acceptedDelay.judge(acceptedP99Ms, measured)];
    });
    return {
      method: `${connections} connections, each with one request under way, from a process of their own on the same cores; jobs of about 100 bytes. Each 201 is counted in the database before any figure is given. Bare Fastify parses the same JSON and inserts into a table with one index, in groups; Carillon checks an API key, validates, writes job, schedule and audit entry. Then jobs that run at once are submitted at half of the rate of bare Fastify, all of which must be executed; and then twice its rate is offered, each request at its planned instant on one of ${count(manyConnections)} connections, where every 201 must be stored, every other answer a 503, and accepted ones count from the planned instant.`,
      machineParts: ['node-apart', 'postgres'],
      table: tableOf(figures),
      findings: [...besideBare, ...whileExecuting, ...whenOverloaded],
      figures,
    };
  },
};

function measureSubmits(run: CarillonRun, module: ServerModule): Promise<SubmitFigures> {
  return onServer(run, module, async ({ target }, databaseUrl) =>
    submitAll(run, databaseUrl, { ...(await target()), job: later, perSecond: undefined }),
  );
}

/** Everything that was accepted is stored, and everything else was refused as overloaded. */
function measureOverload(run: CarillonRun, perSecond: number): Promise<SubmitFigures> {
  return onServer(run, 'carillon-server.ts', async ({ target }, databaseUrl) => {
    const { jobs, warmUpJobs } = jobsOf(run);
    const order: SubmitOrder = {
      ...(await target()),
      ...{ job: later, perSecond, jobs, warmUpJobs, connections: manyConnections },
    };
    const { abort } = run;
    const figures = await askProcess<SubmitFigures>({
      ...{ module: loadModule, order, patienceMs: 180_000, abort },
    });
    const { accepted, refused } = figures;
    const others = Object.keys(refused).filter((status) => status !== '503');
    if (others.length > 0) throw new Error(`neither accepted nor refused: ${JSON.stringify(refused)}`);
    const stored = await onConnection(databaseUrl, countJobs);
    if (stored !== accepted + warmUpJobs)
      throw new Error(`${stored} jobs are stored of ${accepted + warmUpJobs} that were accepted`);
    return figures;
  });
}

function measureExecuting(
  run: CarillonRun,
  perSecond: number,
): Promise<SubmitFigures & { execution: ExecutionFigures }> {
  return onServer(run, 'carillon-server.ts', async ({ target, executed }, databaseUrl) => {
    const order = { ...(await target()), job: atOnce, perSecond };
    const figures = await submitAll(run, databaseUrl, order);
    const { total } = jobsOf(run);
    await eventually(
      async () => {
        const recorded = await onConnection(databaseUrl, countSucceeded);
        if (recorded !== total) throw new Error(`${recorded} of ${total} runs are recorded`);
      },
      { withinMs: 60_000 },
    );
    const execution = await executed();
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
  const stored = await onConnection(databaseUrl, countJobs);
  if (stored !== total) throw new Error(`${stored} jobs are stored of ${total} that were accepted`);
  return figures;
}

function rateOf({ accepted, seconds }: SubmitFigures): number {
  return accepted / seconds;
}

function medianRate(rounds: readonly SubmitFigures[]): number {
  return median(rounds.map(rateOf));
}

function tableOf({ bare, carillon, executing, overloaded }: Figures): string[][] {
  const rowOf = (name: string, rounds: readonly SubmitFigures[]) => [
    name,
    count(medianRate(rounds)),
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
  if (overloaded) {
    const answered = milliseconds(overloaded.acceptedP99Ms);
    rows.push(['carillon, offered too much', count(rateOf(overloaded)), '–', answered, '–']);
  }
  return rows;
}
