/** Plays one round of one system in a process of its own, bounded in time, and hands back its figures or its failure. */
import { askProcess, type Failed } from './ask-process.ts';
import type { ServerUrls } from './stores.ts';
import type { Figures } from './workloads.ts';

export type RoundOrder = {
  readonly workload: string;
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

export type RoundResult = PlayedRound | Failed;

// Slower than any system on any machine worth measuring: a round beyond it hangs.
const jobsPerSecondMin = 500;

export function runRound(order: RoundOrder, abort: AbortSignal): Promise<RoundResult> {
  return askProcess<PlayedRound>({
    module: new URL('./round-process.ts', import.meta.url),
    order,
    patienceMs: 60_000 + (order.jobs / jobsPerSecondMin) * 1_000,
    abort,
    // graphile-worker reads this one at load: a log line per job is not what is being measured.
    env: { NO_LOG_SUCCESS: '1' },
  });
}
