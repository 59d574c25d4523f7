/**
 * `npm run bench`: starts the servers, plays the workloads, reports. Ends with 1 when something was not correct; a bar not
 * met is a finding, not a failure. However it is ended, it leaves no server behind.
 */
import { fileURLToPath } from 'node:url';
import { judgePeers } from './bars.ts';
import { describeMachine, type Machine } from './machine.ts';
import { type BenchOptions, help, readOptions } from './options.ts';
import { playRounds, warmUpOf } from './play-rounds.ts';
import { type CarillonReport, type PeersReport, type Report, renderReport, writeReports } from './report.ts';
import { type Servers, startServers } from './servers.ts';
import { summarise, withoutFigures } from './summary.ts';
import { findSkipReasons } from './systems.ts';
import { drain } from './workloads/drain.ts';
import type { CarillonWorkload } from './workloads.ts';

const resultsFolder = fileURLToPath(new URL('./results/', import.meta.url));
const interrupted = new AbortController();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (!interrupted.signal.aborted) log(`${signal}: stopping the servers`);
    interrupted.abort();
  });
}

process.exitCode = await main();

async function main(): Promise<number> {
  let options: BenchOptions | null;
  try {
    options = readOptions(process.argv.slice(2), resultsFolder);
  } catch (error) {
    console.error(`${(error as Error).message}\nTry --help.`);
    return 2;
  }
  if (!options) {
    console.log(help);
    return 0;
  }
  const servers = await startServers({
    withRedis: options.withPeers && options.systems.some(({ store }) => store === 'redis'),
    log,
  });
  try {
    return await play(options, servers);
  } finally {
    await servers.stop();
  }
}

async function play(options: BenchOptions, servers: Servers): Promise<number> {
  const machine = describeMachine(servers);
  const reports: Report[] = [];
  const plays = [
    ...(options.withPeers ? [() => playWithPeers({ options, servers, machine })] : []),
    ...options.carillonWorkloads.map((workload) => () => playAlone(workload, { options, servers, machine })),
  ];
  for (const playOne of plays) {
    const report = await playOne();
    // Half a run proves nothing: an interrupted one leaves the results of the last whole one in place.
    if (interrupted.signal.aborted) return 130;
    reports.push(report);
    console.log(`\n${renderReport(report)}\n`);
  }
  if (options.results !== undefined) {
    writeReports(options.results, reports);
    log(`written: ${options.results}`);
  }
  return reports.some(hasFailed) ? 1 : 0;
}

type Scene = { readonly options: BenchOptions; readonly servers: Servers; readonly machine: Machine };

async function playWithPeers({ options, servers, machine }: Scene): Promise<PeersReport> {
  const { jobs, rounds } = options.settings;
  const skipped = await findSkipReasons(options.systems, servers);
  const results = await playRounds({ options, servers, skipped, abort: interrupted.signal, log });
  const systems = options.systems.map(({ name }) =>
    skipped.has(name)
      ? withoutFigures(name, `skipped, ${skipped.get(name)}`)
      : summarise(name, results.get(name) ?? []),
  );
  return {
    workload: drain.name,
    date: new Date().toISOString(),
    jobs,
    warmUpJobs: warmUpOf(jobs),
    rounds,
    machine,
    systems,
    bars: judgePeers(systems),
  };
}

async function playAlone(
  workload: CarillonWorkload,
  { options, servers, machine }: Scene,
): Promise<CarillonReport> {
  const outcome = await workload.run({
    urls: servers.urls,
    postgresPid: servers.pids.postgres,
    settings: options.settings,
    log,
    abort: interrupted.signal,
  });
  return {
    workload: workload.name,
    date: new Date().toISOString(),
    quick: options.settings.quick,
    machine,
    ...outcome,
  };
}

function hasFailed(report: Report): boolean {
  return 'findings' in report
    ? report.findings.some(({ verdict }) => verdict === 'failed')
    : report.systems.some(({ problem }) => problem?.startsWith('failed'));
}

function log(line: string): void {
  console.log(`[bench] ${line}`);
}
