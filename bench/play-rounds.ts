/** Plays the rounds of one workload over all systems: A B C, A B C, …, so a machine that slows down slows all of them. */
import type { BenchOptions } from './options.ts';
import { type RoundResult, runRound } from './run-round.ts';
import type { Servers } from './servers.ts';
import type { SkipReasons } from './skip-reasons.ts';
import { count, splitWords } from './text-table.ts';
import type { Workload } from './workloads.ts';

export async function playRounds(run: {
  workload: Workload;
  options: BenchOptions;
  servers: Servers;
  skipped: SkipReasons;
  abort: AbortSignal;
  log: (line: string) => void;
}): Promise<Map<string, RoundResult[]>> {
  const { workload, options, servers, skipped, abort, log } = run;
  const results = new Map<string, RoundResult[]>();
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const { name, store } of options.systems) {
      if (abort.aborted) return results;
      const label = `${workload.name} ${round}/${options.rounds} ${name}`;
      const reason = skipped.get(name);
      if (reason !== undefined) {
        if (round === 1) log(`${label}: skipped, ${reason}`);
        continue;
      }
      const order = {
        workload: workload.name,
        system: name,
        jobs: options.jobs,
        warmUpJobs: warmUpOf(options.jobs),
        urls: servers.urls,
        storePid: servers.pids[store],
      };
      const result = await runRound(order, abort);
      log(`${label}: ${describe(result)}`);
      results.set(name, [...(results.get(name) ?? []), result]);
    }
  }
  return results;
}

/** Enough to compile the hot paths: with a twentieth, the first measured round was up to a fifth slower than the next. */
export function warmUpOf(jobs: number): number {
  return Math.ceil(jobs / 5);
}

function describe(result: RoundResult): string {
  if (!result.ok) return `FAILED: ${result.reason}`;
  const { submitPerSecond, drainPerSecond, drainCoreUs } = result.figures;
  const cost = drainCoreUs === null ? '' : ` (core-µs per job: ${splitWords(drainCoreUs)})`;
  return `submitted ${count(submitPerSecond)}/s, drained ${count(drainPerSecond)}/s${cost}, all ran once and are recorded`;
}
