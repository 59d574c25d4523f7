/**
 * `npm run bench`: starts the servers, plays the rounds (A B C, A B C, …: a machine that slows down slows all of them),
 * reports. Ends with 1 when a system was not correct; a bar not met is a finding, not a failure. However it is ended, it
 * leaves no server behind.
 */
import { fileURLToPath } from 'node:url';
import { describeMachine } from './machine.ts';
import { type BenchOptions, help, readOptions } from './options.ts';
import { makeReport, type Report, renderReport, writeReports } from './report.ts';
import { type RoundResult, runRound } from './run-round.ts';
import { type Servers, startServers } from './servers.ts';
import { summarise, withoutFigures } from './summary.ts';
import type { SystemEntry } from './systems.ts';
import type { Workload } from './workloads.ts';

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
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${(error as Error).message}\nTry --help.`);
    return 2;
  }
  if (!options) {
    console.log(help);
    return 0;
  }
  const servers = await startServers({
    withRedis: options.systems.some(({ store }) => store === 'redis'),
    log,
  });
  try {
    const machine = describeMachine(servers);
    const reports: Report[] = [];
    for (const workload of options.workloads) {
      const results = await playRounds(workload, options, servers);
      // Half a run proves nothing: an interrupted one leaves the results of the last whole one in place.
      if (interrupted.signal.aborted) return 130;
      const report = makeReport({
        workload: workload.name,
        date: new Date().toISOString(),
        jobs: options.jobs,
        warmUpJobs: warmUpOf(options.jobs),
        rounds: options.rounds,
        machine,
        systems: options.systems.map(({ name, store }) =>
          isSkipped(store, servers)
            ? withoutFigures(name, `skipped, ${servers.redisProblem}`)
            : summarise(name, results.get(name) ?? []),
        ),
      });
      reports.push(report);
      console.log(`\n${renderReport(report)}\n`);
    }
    writeReports(resultsFolder, reports);
    log('written: bench/results/');
    return reports.some(({ systems }) => systems.some(({ problem }) => problem?.startsWith('failed')))
      ? 1
      : 0;
  } finally {
    await servers.stop();
  }
}

async function playRounds(
  workload: Workload,
  options: BenchOptions,
  servers: Servers,
): Promise<Map<string, RoundResult[]>> {
  const results = new Map<string, RoundResult[]>();
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const { name, store } of options.systems) {
      if (interrupted.signal.aborted) return results;
      const label = `${workload.name} ${round}/${options.rounds} ${name}`;
      if (isSkipped(store, servers)) {
        if (round === 1) log(`${label}: skipped, ${servers.redisProblem}`);
        continue;
      }
      const order = {
        workload: workload.name,
        system: name,
        jobs: options.jobs,
        warmUpJobs: warmUpOf(options.jobs),
        urls: servers.urls,
      };
      const result = await runRound(order, interrupted.signal);
      log(`${label}: ${describe(result)}`);
      results.set(name, [...(results.get(name) ?? []), result]);
    }
  }
  return results;
}

function isSkipped(store: SystemEntry['store'], servers: Servers): boolean {
  return store === 'redis' && servers.redisProblem !== null;
}

/** Enough to compile the hot paths: with a twentieth, the first measured round was up to a fifth slower than the next. */
function warmUpOf(jobs: number): number {
  return Math.ceil(jobs / 5);
}

function describe(result: RoundResult): string {
  if (!result.ok) return `FAILED: ${result.reason}`;
  const { submitPerSecond, drainPerSecond } = result.figures;
  return `submitted ${Math.round(submitPerSecond)}/s, drained ${Math.round(drainPerSecond)}/s, all ran once and are recorded`;
}

function log(line: string): void {
  console.log(`[bench] ${line}`);
}
