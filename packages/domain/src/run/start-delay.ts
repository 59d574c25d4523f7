/**
 * How long after its instant a run began: the one definition, for counts, lists and the page alike. Measured of the first attempt of what
 * a schedule fired or a person asked for. A retry begins when its policy says, and a redriven run stands for an occurrence long past.
 */
import type { JobId } from '../ids.ts';
import { fireTime } from '../schedule/fire-time.ts';
import type { Schedule } from '../schedule/schedule.ts';
import type { RunTrigger } from './run.ts';

export interface StartFacts {
  readonly jobId: JobId;
  readonly trigger: RunTrigger;
  readonly attempt: number;
  /** The occurrence, or when a person asked. */
  readonly scheduledAtMs: number;
  readonly startedAtMs: number | undefined;
  /** Of its job, at least where that spreads its starts: the share of the job is no delay. */
  readonly schedule: Schedule | undefined;
}

/** Undefined: not measured. */
export function startDelayMs(run: StartFacts): number | undefined {
  const { jobId, trigger, attempt, scheduledAtMs, startedAtMs, schedule } = run;
  if (startedAtMs === undefined || attempt !== 1 || trigger === 'redrive') return undefined;
  const dueAtMs =
    schedule && trigger === 'schedule'
      ? fireTime({ schedule, jobId, nominalMs: scheduledAtMs })
      : scheduledAtMs;
  return Math.max(0, startedAtMs - dueAtMs);
}
