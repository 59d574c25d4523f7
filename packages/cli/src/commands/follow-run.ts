/**
 * A run, each time it has changed, until it is over. An attempt that failed may be tried again: the run is over when no
 * try is waiting, which the server says by answering a final state twice in a row.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Carillon, RunWithAttempts } from '@carillon/client';

const FIRST_PAUSE_MS = 150;
const PAUSE_MS_MAX = 1_500;

const LIVING: ReadonlySet<string> = new Set(['QUEUED', 'CLAIMED', 'RUNNING']);

/** Ends without an error when the signal aborts. */
export async function* followRun(
  client: Carillon,
  runId: string,
  signal: AbortSignal,
): AsyncGenerator<RunWithAttempts, void, undefined> {
  let shown = '';
  let finalTwice = false;
  for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 1.3, PAUSE_MS_MAX)) {
    const run = await client.runs.get(runId, { signal }).catch((error: unknown) => {
      if (signal.aborted) return undefined;
      throw error;
    });
    if (!run) return;
    const look = `${run.status} ${run.attempt_number}`;
    if (look !== shown) {
      shown = look;
      pauseMs = FIRST_PAUSE_MS;
      yield run;
    } else if (finalTwice && !LIVING.has(run.status)) return;
    finalTwice = !LIVING.has(run.status);
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}
