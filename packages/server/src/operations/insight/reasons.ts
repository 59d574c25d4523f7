/**
 * Why a job or a run does not run, or how it ended, in plain sentences: what is the matter, and what a person can do about it. Pure:
 * whoever calls has read everything.
 */
import {
  type DeadLetter,
  type DeadReason,
  isRecurring,
  isSkippedBy,
  type Job,
  type Reason,
  type ReasonCode,
  type RunFacts,
  type SkippedFire,
  type SkipReason,
} from '@carillon/domain';
import type { SlotHolder } from '../../storage/insight-store.ts';

export function reason(
  code: ReasonCode,
  text: string,
  over: Partial<Omit<Reason, 'code' | 'text'>> = {},
): Reason {
  return { code, text, sinceMs: undefined, untilMs: undefined, heldBy: [], fix: undefined, ...over };
}

const iso = (ms: number) => new Date(ms).toISOString();
const plural = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

export function pausedReason({ jobId }: Pick<Job, 'jobId'>, sinceMs: number | undefined): Reason {
  return reason('paused', 'The job is paused: nothing of its schedule starts until it is resumed.', {
    sinceMs,
    fix: `Resume it: carillon jobs resume ${jobId}`,
  });
}

export function notDueReason(untilMs: number): Reason {
  return reason('not_due', `It is not due yet: it starts at ${iso(untilMs)}.`, { untilMs });
}

/** That it will be given up, where its job says so. */
export function startTimeoutReason(untilMs: number): Reason {
  const text = `It is given up if it has not started by ${iso(untilMs)} (start_timeout_seconds).`;
  return reason('start_timeout', text, { untilMs });
}

export function retryWaitReason(
  before: RunFacts,
  { untilMs, attemptsMax }: { untilMs: number; attemptsMax: number },
): Reason {
  const { attempt, error } = before;
  const why = error === undefined ? '' : `: ${firstLine(error)}`;
  const text = `Attempt ${attempt} of ${attemptsMax} did not succeed${why} The next attempt starts at ${iso(untilMs)}.`;
  return reason('retry_wait', text, { sinceMs: before.endedAtMs, untilMs });
}

export function atLimitReason(
  { jobId, maxConcurrency }: Pick<Job, 'jobId' | 'maxConcurrency'>,
  { holders, ahead, sinceMs }: { holders: readonly SlotHolder[]; ahead: number | undefined; sinceMs: number },
): Reason {
  const alive = holders.find(({ workerId }) => workerId !== undefined);
  const who = alive ? `, such as ${alive.runId} on the worker ${alive.workerId}` : '';
  const behind = ahead ? ` ${plural(ahead, 'run')} of it wait${ahead === 1 ? 's' : ''} before this one.` : '';
  const text = `The job may have ${plural(maxConcurrency, 'run')} at a time (max_concurrency), and has that many${who}.${behind}`;
  return reason('at_limit', text, {
    sinceMs,
    heldBy: holders.map(({ runId, workerId }) => ({ runId, jobId, workerId })),
    fix: `Wait until one of them has ended, cancel one (carillon runs cancel ${alive?.runId ?? 'RUN'}), or allow more at a time: carillon jobs update ${jobId} --concurrency ${maxConcurrency + 1}`,
  });
}

/** What the command offers by itself; all others take a program. */
const BUILT_IN = new Set(['http', 'script']);

export function noWorkerReason(handler: string, sinceMs: number | undefined): Reason {
  const fix = BUILT_IN.has(handler)
    ? `Start a worker that does: carillon worker --handlers ${handler}`
    : `Start a worker that does: a program with worker.handle('${handler}', …) (docs/workers.md). If the name is misspelled, change the handler of the job.`;
  return reason('no_worker', `No worker offers the handler \`${handler}\`.`, { sinceMs, fix });
}

/** Servers run jobs, and none of them runs scripts: unless told otherwise, those that others can reach do not. */
export function scriptsOffReason(sinceMs: number | undefined): Reason {
  return reason(
    'scripts_off',
    'No worker offers the handler `script`: the server was started without scripts.',
    {
      sinceMs,
      fix: 'Start the server with --script-enabled (docs/scripts.md), or a worker for scripts beside it: carillon worker --handlers script',
    },
  );
}

export interface WorkersOfHandler {
  readonly handler: string;
  /** Those that live and take runs. */
  readonly taking: number;
  readonly draining: number;
  readonly slots: number;
  readonly busy: number;
  /** An id of one that drains. */
  readonly drainingId: string | undefined;
}

/** isTold: the caller may look at workers. */
export function workersReason(
  workers: WorkersOfHandler,
  {
    sinceMs,
    isTold,
    ahead,
    namespace,
  }: { sinceMs: number; isTold: boolean; ahead: number | undefined; namespace: string },
): Reason {
  const { handler, taking, draining, slots, busy, drainingId } = workers;
  if (taking + draining === 0) return noWorkerReason(handler, sinceMs);
  if (taking === 0) {
    const fix = isTold
      ? `Let it take runs again (carillon workers undrain ${drainingId}), or start another worker that offers the handler.`
      : 'Ask an operator to start another worker, or to let the drained one take runs again.';
    return reason(
      'workers_draining',
      `Every worker that offers the handler \`${handler}\` is draining and takes no runs.`,
      {
        ...{ sinceMs, fix },
      },
    );
  }
  const others = ahead
    ? ` ${plural(ahead, 'run')} of the same owner, handler and priority wait${ahead === 1 ? 's' : ''} before it.`
    : '';
  if (busy >= slots) {
    const what = isTold
      ? `${slots === 1 ? 'The one slot' : `All ${slots} slots`} of the ${plural(taking, 'worker')} that offer${taking === 1 ? 's' : ''} the handler \`${handler}\` ${slots === 1 ? 'is' : 'are'} in use.`
      : `Every worker that offers the handler \`${handler}\` is busy.`;
    return reason('slots_busy', `${what}${others}`, {
      sinceMs,
      fix: 'Wait until a slot is free, start another worker or one with more slots, or raise the priority of the job.',
    });
  }
  if (ahead) return reason('behind_others', `It waits for its turn.${others}`, { sinceMs });
  return reason('starting', 'It may start, and is about to be handed to a worker.', {
    sinceMs,
    fix: `If it stays like this for more than a few seconds, look whether a worker with free slots may take runs of the namespace ${namespace} (carillon workers list).`,
  });
}

export function noSchedulerReason(sinceMs: number): Reason {
  return reason('no_scheduler', 'It is due, but no server schedules jobs of its part of the store.', {
    sinceMs,
    fix: 'Start a server with the role engine or scheduler: carillon start. Within seconds it takes over what is due.',
  });
}

/** Workers beat every few seconds: one that is silent for longer may be gone, though it is not given up yet. */
const SILENCE_TOLD_MS = 5_000;

/** silentMs: how long nothing was heard of its worker. */
export function runningReason(run: RunFacts, silentMs = 0): Reason {
  const { runId, jobId, executorId, status } = run;
  const sinceMs = run.startedAtMs ?? run.createdAtMs;
  const heard = silentMs > SILENCE_TOLD_MS ? ` (last heard of ${Math.floor(silentMs / 1_000)} s ago)` : '';
  const where = executorId === undefined ? '' : ` on the worker ${executorId}${heard}`;
  const heldBy = [{ runId, jobId, workerId: executorId }];
  if (status === 'CANCELLING')
    return reason('cancelling', `It was asked to stop, and has not ended yet${where}.`, { sinceMs, heldBy });
  return reason('running', `It is running${where} since ${iso(sinceMs)}, attempt ${run.attempt}.`, {
    ...{ sinceMs, heldBy, fix: `Watch what it writes: carillon runs logs -f ${runId}` },
  });
}

const GIVEN_UP: Record<DeadReason, string> = {
  retries_exhausted: 'all its attempts have failed',
  not_retryable: 'trying again cannot help with this error',
  deadline_passed: 'the time for its attempts is over',
  crashed_workers: 'it was lost with several workers, and may be what ends them',
  never_started: 'it did not start in time',
  retries_stopped: 'the job allows no further attempts',
};

/** Of a run that did not succeed: its error, and its dead letter. */
export function failedReasons(run: RunFacts, letter: DeadLetter | undefined): Reason[] {
  const { runId, error, attempt, endedAtMs } = run;
  const how = run.status === 'TIMED_OUT' ? 'took longer than it may' : 'failed';
  const why = error === undefined ? '.' : `: ${firstLine(error)}`;
  const failed = reason('failed', `Attempt ${attempt} ${how}${why}`, {
    sinceMs: endedAtMs ?? run.modifiedAtMs,
    fix: `Read its log (carillon runs logs ${runId}), mend the cause, and run it again: carillon runs rerun ${runId}`,
  });
  if (!letter) return [failed];
  const { redrivenAs, resolvedBy } = letter;
  if (redrivenAs !== undefined)
    return [
      failed,
      reason('dead_letter', `It was given up, and was sent round again as the run ${redrivenAs}.`, {
        sinceMs: letter.diedAtMs,
      }),
    ];
  if (resolvedBy !== undefined)
    return [
      failed,
      reason('dead_letter', `It was given up, and a later run of the job has succeeded (${resolvedBy}).`, {
        sinceMs: letter.diedAtMs,
      }),
    ];
  const text = `It was given up and is a dead letter (${runId}): ${GIVEN_UP[letter.reason]}.`;
  const fix = `Mend the cause, then send it round again: carillon dlq redrive ${runId}`;
  return [
    { ...failed, fix: `Read its log (carillon runs logs ${runId}) and mend the cause.` },
    reason('dead_letter', text, { sinceMs: letter.diedAtMs, fix }),
  ];
}

const SKIPPED: Record<SkipReason, string> = {
  misfire: 'nothing could start it in time, and its misfire policy does not catch up',
  overlap: 'a run before it had not ended, and the job skips what overlaps',
  queue_full: 'too many occurrences were waiting behind the limit of the job',
  replaced: 'a newer occurrence took its place, as the job asks for',
  paused: 'the job was paused at its instant',
};

/** Of a fire that lies ahead. */
export function fireSkippedReason(
  { jobId }: Pick<Job, 'jobId'>,
  { atMs, by, skippedAtMs }: SkippedFire,
): Reason {
  return reason(
    'fire_skipped',
    `The fire of ${iso(atMs)} is left out: ${by} skipped it on ${iso(skippedAtMs)}.`,
    {
      ...{ sinceMs: skippedAtMs, untilMs: atMs },
      fix: `Take it back: carillon jobs unskip ${jobId} --at ${iso(atMs)}`,
    },
  );
}

/** sinceMs: when a person skipped it. */
export function skippedReason(
  { reason: why, occurrences, createdAtMs }: RunFacts,
  sinceMs: number | undefined = undefined,
): Reason {
  if (isSkippedBy(why)) {
    const when = sinceMs === undefined ? '' : `, on ${iso(sinceMs)}`;
    return reason('skipped', `It was ${why}${when}.`, { sinceMs: sinceMs ?? createdAtMs });
  }
  const what = occurrences > 1 ? `${occurrences} occurrences were skipped` : 'It was skipped';
  const words =
    why !== undefined && Object.hasOwn(SKIPPED, why)
      ? SKIPPED[why as SkipReason]
      : (why ?? 'no reason is known');
  return reason('skipped', `${what}: ${words}.`, { sinceMs: createdAtMs });
}

export function interruptedReason(run: RunFacts): Reason {
  const how = run.status === 'LOST' ? 'was lost with its worker' : 'was given back by its worker';
  return reason(
    'interrupted',
    `Attempt ${run.attempt} ${how}; it is tried again, which does not count as a failure.`,
    {
      sinceMs: run.endedAtMs ?? run.modifiedAtMs,
    },
  );
}

export function cancelledReason(
  what: 'job' | 'run',
  { id, sinceMs }: { id: string; sinceMs: number },
): Reason {
  return what === 'job'
    ? reason('cancelled', 'The job was cancelled: nothing of it starts any more.', {
        ...{ sinceMs, fix: 'Make a new job like it: a cancelled one cannot be resumed.' },
      })
    : reason('cancelled', 'The run was cancelled.', {
        sinceMs,
        fix: `Run it again: carillon runs rerun ${id}`,
      });
}

/** Of a job that nothing is planned of. */
export function endedReason(job: Pick<Job, 'jobId' | 'schedule'>, last: RunFacts | undefined): Reason {
  const again = `Run it once more: carillon jobs run ${job.jobId}`;
  if (isRecurring(job.schedule))
    return reason('schedule_ended', 'Its schedule has ended: no occurrence lies ahead.', {
      fix: `Give it a new schedule (carillon jobs update ${job.jobId}), or run it once more: carillon jobs run ${job.jobId}`,
    });
  const at = last?.endedAtMs;
  return reason(
    'succeeded',
    `It has run${at === undefined ? '' : `, until ${iso(at)}`}. It runs once, so nothing more is planned.`,
    {
      ...{ sinceMs: at, fix: again },
    },
  );
}

export function succeededReason({ endedAtMs, startedAtMs, attempt }: RunFacts): Reason {
  const took =
    endedAtMs !== undefined && startedAtMs !== undefined
      ? ` in ${Math.max(0, endedAtMs - startedAtMs) / 1_000} s`
      : '';
  const tries = attempt > 1 ? ` at attempt ${attempt}` : '';
  return reason('succeeded', `It succeeded${took}${tries}.`, { sinceMs: endedAtMs });
}

const ERROR_LENGTH_MAX = 300;

/** The first line of an error, ended by a full stop. */
function firstLine(error: string): string {
  const line = error.split('\n', 1)[0]!.trim();
  const short = line.length <= ERROR_LENGTH_MAX ? line : `${line.slice(0, ERROR_LENGTH_MAX).toWellFormed()}…`;
  return /[.!?…]$/.test(short) ? short : `${short}.`;
}
