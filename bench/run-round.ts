/** Plays one round of one system in a process of its own, bounded in time, and hands back its figures or its failure. */
import { fork } from 'node:child_process';
import type { ServerUrls } from './stores.ts';
import type { Figures } from './workloads.ts';

export type RoundOrder = {
  readonly workload: string;
  readonly system: string;
  readonly jobs: number;
  readonly warmUpJobs: number;
  readonly urls: ServerUrls;
};

export type RoundResult =
  | { readonly ok: true; readonly version: string; readonly keepsHistory: boolean; readonly figures: Figures }
  | { readonly ok: false; readonly reason: string };

// Slower than any system on any machine worth measuring: a round beyond it hangs.
const jobsPerSecondMin = 500;

export function runRound(order: RoundOrder, abort: AbortSignal): Promise<RoundResult> {
  const patienceMs = 60_000 + (order.jobs / jobsPerSecondMin) * 1_000;
  const child = fork(new URL('./round-process.ts', import.meta.url), {
    // graphile-worker reads this one at load: a log line per job is not what is being measured.
    env: { ...process.env, NO_LOG_SUCCESS: '1', NODE_ENV: 'production' },
    // Its own group: a Ctrl-C reaches it through the bench, which first lets go of it and then stops the servers.
    detached: true,
  });

  return new Promise((resolve) => {
    let answer: RoundResult = { ok: false, reason: 'the process of the round ended without an answer' };
    const giveUp = (reason: string) => {
      answer = { ok: false, reason };
      child.kill('SIGKILL');
    };
    const timer = setTimeout(
      () => giveUp(`no answer within ${Math.round(patienceMs / 1_000)} s`),
      patienceMs,
    );
    const interrupt = () => giveUp('interrupted');
    abort.addEventListener('abort', interrupt);
    child.once('message', (message) => {
      answer = message as RoundResult;
    });
    child.once('error', (error) => giveUp(error.message));
    child.once('exit', () => {
      clearTimeout(timer);
      abort.removeEventListener('abort', interrupt);
      resolve(answer);
    });
    child.send(order);
  });
}
