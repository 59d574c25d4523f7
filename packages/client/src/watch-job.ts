/**
 * Follows one job until it ends. Events only say that it is worth looking: the status itself is always read, so a lost
 * event, a server without a stream or a key that may not read events costs a second of delay and nothing else.
 */

import type { JobStatusReport } from './generated/types.ts';
import type { Events } from './resources/events.ts';
import type { Jobs } from './resources/jobs.ts';
import { pause } from './wire/backoff.ts';
import type { CallOptions } from './wire/transport.ts';

const POLL_MS = 1_000;
/** While the stream is open, polling is a safety net only. */
const POLL_BESIDE_STREAM_MS = 10_000;

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

export async function* watchJob(
  { jobs, events }: { jobs: Jobs; events: Events },
  jobId: string,
  options: CallOptions = {},
): AsyncGenerator<JobStatusReport, void, undefined> {
  const hints = new Hints();
  const left = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, left.signal]) : left.signal;
  const listening = listen(events, { jobId, signal, hints });
  let shown = '';
  try {
    for (;;) {
      const status = await jobs.status(jobId, options);
      const look = appearanceOf(status);
      if (look !== shown) yield status;
      shown = look;
      if (ENDED.has(status.status)) return;
      await hints.next(hints.isOpen ? POLL_BESIDE_STREAM_MS : POLL_MS, options.signal);
    }
  } finally {
    left.abort();
    await listening;
  }
}

async function listen(
  events: Events,
  { jobId, signal, hints }: { jobId: string; signal: AbortSignal; hints: Hints },
): Promise<void> {
  const onOpen = () => {
    hints.isOpen = true;
    hints.give();
  };
  try {
    for await (const _ of events.stream({ job_id: jobId, signal, onOpen })) hints.give();
  } catch {
    // No stream to be had here: looking every second goes on without it.
  }
  hints.isOpen = false;
}

function appearanceOf({ status, latest_run: run }: JobStatusReport): string {
  return [status, run?.run_id, run?.status, run?.attempt_number].join(' ');
}

/** Remembers that something was said while nobody waited. */
class Hints {
  isOpen = false;
  #given = false;
  #wake: (() => void) | undefined;

  give(): void {
    this.#given = true;
    this.#wake?.();
  }

  async next(withinMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (!this.#given) {
      const woken = new AbortController();
      const stop = signal ? AbortSignal.any([signal, woken.signal]) : woken.signal;
      this.#wake = () => woken.abort();
      await pause(withinMs, stop).catch(() => signal?.throwIfAborted());
      this.#wake = undefined;
    }
    this.#given = false;
  }
}
