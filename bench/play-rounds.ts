/**
 * Plays the rounds of the drain over all systems: A B C, A B C, …, so a machine that slows down slows all of them. Each round
 * of a system is a process of its own, bounded in time.
 */
import { askProcess } from './ask-process.ts';
import type { BenchOptions } from './options.ts';
import type { Servers } from './servers.ts';
import type { ServerUrls } from './stores.ts';
import type { SkipReasons } from './systems.ts';
import { costWords, count } from './text-table.ts';
import { drain, type Figures } from './workloads/drain.ts';

export type RoundOrder = {
  readonly system: string;
  readonly jobs: number;
  readonly warmUpJobs: number;
  readonly urls: ServerUrls;
  /** The server of the system's store. */
  readonly storePid: number;
};

export type PlayedRound = {
  readonly ok: true;
  readonly version: string;
  readonly keepsHistory: boolean;
  readonly figures: Figures;
};

export type RoundResult = PlayedRound | { readonly ok: false; readonly reason: string };

// Slower than any system on any machine worth measuring: a round beyond it hangs.
const jobsPerSecondMin = 500;

export async function playRounds(run: {
  options: BenchOptions;
  servers: Servers;
  skipped: SkipReasons;
  abort: AbortSignal;
  log: (line: string) => void;
}): Promise<Map<string, RoundResult[]>> {
  const { options, servers, skipped, abort, log } = run;
  const { jobs, rounds } = options.settings;
  const results = new Map<string, RoundResult[]>();
  for (let round = 1; round <= rounds; round += 1) {
    for (const { name, store } of options.systems) {
      if (abort.aborted) return results;
      const label = `${drain.name} ${round}/${rounds} ${name}`;
      const reason = skipped.get(name);
      if (reason !== undefined) {
        if (round === 1) log(`${label}: skipped, ${reason}`);
        continue;
      }
      const storePid = servers.pids[store];
      const order = { system: name, jobs, warmUpJobs: warmUpOf(jobs), urls: servers.urls, storePid };
      const result = await playRound(order, abort);
      log(`${label}: ${describe(result)}`);
      results.set(name, [...(results.get(name) ?? []), result]);
    }
  }
  return results;
}

function playRound(order: RoundOrder, abort: AbortSignal): Promise<RoundResult> {
  return askProcess<PlayedRound>({
    module: new URL('./round-process.ts', import.meta.url),
    order,
    patienceMs: 60_000 + (order.jobs / jobsPerSecondMin) * 1_000,
    abort,
    // graphile-worker reads this one at load: a log line per job is not what is being measured.
    env: { NO_LOG_SUCCESS: '1' },
  }).catch((error: Error) => ({ ok: false, reason: error.message }));
}

/** Enough to compile the hot paths: with a twentieth, the first measured round was up to a fifth slower than the next. */
export function warmUpOf(jobs: number): number {
  return Math.ceil(jobs / 5);
}

function describe(result: RoundResult): string {
  if (!result.ok) return `FAILED: ${result.reason}`;
  const { submitPerSecond, drainPerSecond, drainCoreUs } = result.figures;
  return `submitted ${count(submitPerSecond)}/s, drained ${count(drainPerSecond)}/s${costWords(drainCoreUs)}, all ran once and are recorded`;
}
