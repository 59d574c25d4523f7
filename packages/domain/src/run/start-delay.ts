/**
 * How long after its instant a run began: the one definition, for counts, lists and the page alike. Measured of the first attempt of what
 * a schedule fired or a person asked for, when it is handed out for the first time. A retry begins when its policy says, a run that
 * repeats another stands for an instant long past, and what is taken over from a lost worker had begun before.
 *
 * The history does not tell what held a run up. Counts leave out runs that waited for a slot of their job, as far as whoever settles has
 * claimed them too (ClaimedRun.dueAtMs); the delay of one run contains that wait, and all contain the wait for a worker that offers the
 * handler.
 */
import type { JobId } from '../ids.ts';
import { fireTime } from '../schedule/fire-time.ts';
import type { Schedule } from '../schedule/schedule.ts';
import { isFirstEpoch } from './first-epoch.ts';
import type { RunTrigger } from './run.ts';

export interface StartFacts {
  readonly jobId: JobId;
  readonly trigger: RunTrigger;
  readonly attempt: number;
  readonly epoch: number;
  /** It was redriven or run again. */
  readonly isRepeat: boolean;
  /** The occurrence, or when a person asked. */
  readonly scheduledAtMs: number;
  readonly startedAtMs: number | undefined;
  /** Of its job, at least where that spreads its starts: the share of the job is no delay. */
  readonly schedule: Schedule | undefined;
}

/** Undefined: not measured. */
export function startDelayMs(run: StartFacts): number | undefined {
  const { jobId, trigger, attempt, epoch, isRepeat, scheduledAtMs, startedAtMs, schedule } = run;
  if (startedAtMs === undefined || attempt !== 1 || isRepeat || !isFirstEpoch(epoch)) return undefined;
  const dueAtMs =
    schedule && trigger === 'schedule'
      ? fireTime({ schedule, jobId, nominalMs: scheduledAtMs })
      : scheduledAtMs;
  return Math.max(0, startedAtMs - dueAtMs);
}
