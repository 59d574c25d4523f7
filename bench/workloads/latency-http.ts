/**
 * Due → started over HTTP (P3), in two shapes of an installation: one process, and gateway, scheduler and dispatcher as
 * processes of their own that share a database and nothing else. Clients post jobs, the jobs call a server of the bench, and what counts is the
 * time from a job's scheduled instant until its call was received.
 */
import { askProcess } from '../ask-process.ts';
import { assertRecorded } from '../engine/store-facts.ts';
import { type Bound, bound, type Finding, findingsOf } from '../findings.ts';
import type {
  HttpDelayFigures,
  HttpDelayOrder,
  HttpDelays,
  HttpLoad,
} from '../latency-http/delay-process.ts';
import { type CarillonProcess, keyHeaders, startCarillon } from '../servers/carillon-process.ts';
import { onConnection, onDatabase } from '../stores.ts';
import { count, milliseconds } from '../text-table.ts';
import type { CarillonOutcome, CarillonRun, CarillonSettings, CarillonWorkload } from '../workloads.ts';

const delayModule = new URL('../latency-http/delay-process.ts', import.meta.url);
const patienceMs = 600_000;

type Shape = {
  readonly name: string;
  /** The roles of each of its processes. The one that clients talk to comes last: what it takes can then be run. */
  readonly processes: readonly string[];
  readonly p50BelowMs: number;
  readonly p99BelowMs: number;
};

const shapes: readonly Shape[] = [
  { name: 'one process', processes: ['gateway,engine'], p50BelowMs: 10, p99BelowMs: 50 },
  { name: 'apart', processes: ['scheduler', 'dispatcher', 'gateway'], p50BelowMs: 20, p99BelowMs: 100 },
];

type NamedLoad = { readonly name: string; readonly load: HttpLoad; readonly isJudged: boolean };

export const latencyHttp: CarillonWorkload = {
  name: 'latency-http',
  summary:
    'due → call received at 1,000 jobs/s, in one process and with gateway, scheduler and dispatcher apart',

  async run(run): Promise<CarillonOutcome> {
    const { settings, abort, log } = run;
    const loads = loadsOf(settings);
    const table = [['processes', 'load', 'jobs', 'p50', 'p99', 'max', 'earliest', 'from POST: p50 / p99']];
    const findings: Finding[] = [];
    const measured: Record<string, HttpDelayFigures> = {};
    for (const shape of shapes) {
      if (abort.aborted) break;
      const bounds = loads.map(({ name, isJudged }) => (isJudged ? boundsOf(shape, name) : []));
      const measureShape = async () => {
        const figures = await onDatabase(run.urls, ({ env }) =>
          measure(run, { databaseUrl: env.databaseUrl, shape, loads }),
        );
        measured[shape.name] = figures;
        return loads.flatMap(({ name }, i) => {
          const delays = figures.loads[i]!;
          const { p50Ms, p99Ms } = delays;
          table.push(rowOf(shape, name, delays));
          log(`latency-http ${shape.name}, ${name}: p50 ${p50Ms} ms, p99 ${p99Ms} ms`);
          return bounds[i]!.map((bound, j) => bound.judge([p50Ms, p99Ms][j]!));
        });
      };
      const onFailed = (reason: string) => log(`latency-http ${shape.name}: FAILED: ${reason}`);
      findings.push(...(await findingsOf(bounds.flat(), measureShape, onFailed)));
    }
    return {
      method: `From a job's scheduled instant until the bench received its HTTP call, rounded up to whole milliseconds. Posted: POST /api/jobs with a key, evenly spread, due at once. Planned: FUTURE jobs posted before the first was due. The servers are processes as people start them, with ${count(settings.slots)} slots, on one database; clients and receiver are one more process on the same cores. Every job was called exactly once, for its instant, and is recorded.`,
      machineParts: ['node-apart', 'postgres'],
      table,
      findings,
      figures: measured,
    };
  },
};

async function measure(
  { settings, abort }: CarillonRun,
  { databaseUrl, shape, loads }: { databaseUrl: string; shape: Shape; loads: readonly NamedLoad[] },
): Promise<HttpDelayFigures> {
  const servers: CarillonProcess[] = [];
  const stop = async () => {
    for (let server = servers.pop(); server; server = servers.pop()) await server.stop();
  };
  try {
    const flags = [
      ...['--database-url', databaseUrl, '--executor-slots', String(settings.slots)],
      // The clients have one key and one address: what is measured is the server, not its patience with one caller.
      ...['--rate-limit-key-per-second', '0', '--rate-limit-address-per-second', '0'],
    ];
    for (const roles of shape.processes) servers.push(await startCarillon(['--roles', roles, ...flags]));
    for (const server of servers) await server.assertReady();
    const { address, adminKey } = servers.at(-1)!;
    const order: HttpDelayOrder = {
      address,
      headers: await keyHeaders({ address, key: adminKey }),
      warmUpJobs: settings.quick ? 500 : 10_000,
      loads: loads.map(({ load }) => load),
    };
    const figures = await askProcess<HttpDelayFigures>({ module: delayModule, order, patienceMs, abort });
    await stop();
    // The servers have stopped: nothing more is recorded than is now.
    await onConnection(databaseUrl, (client) => assertRecorded(client, figures.jobs));
    return figures;
  } finally {
    await stop();
  }
}

function loadsOf({ quick }: CarillonSettings): readonly NamedLoad[] {
  const [perSecond, seconds] = quick ? [200, 3] : [1_000, 20];
  const rate = `${count(perSecond)} jobs/s`;
  return [
    { name: `posted, ${rate}`, load: { kind: 'posted', perSecond, seconds }, isJudged: true },
    {
      name: `planned, ${rate}`,
      load: { kind: 'planned', load: { kind: 'steady', perSecond, seconds } },
      isJudged: true,
    },
    // No bar names it: how long the last one waits is a matter of how fast calls can be made at all.
    {
      name: `planned, ${count(perSecond)} at one instant`,
      load: { kind: 'planned', load: { kind: 'herd', jobs: perSecond } },
      isJudged: false,
    },
  ];
}

/** Of p50 and of p99. */
function boundsOf({ name, p50BelowMs, p99BelowMs }: Shape, load: string): Bound[] {
  return [
    bound('P3', `${name}, ${load}: p50`, { below: p50BelowMs }, milliseconds),
    bound('P3', `${name}, ${load}: p99`, { below: p99BelowMs }, milliseconds),
  ];
}

function rowOf(shape: Shape, load: string, delays: HttpDelays): string[] {
  const { p50Ms, p99Ms, maxMs, minMs, fromPost } = delays;
  return [
    shape.name,
    load,
    count(delays.jobs),
    ...[p50Ms, p99Ms, maxMs, minMs].map(milliseconds),
    fromPost ? `${milliseconds(fromPost.p50Ms)} / ${milliseconds(fromPost.p99Ms)}` : '–',
  ];
}
