/**
 * A job as somebody asks for it: words and numbers whose shape is right and whose meaning nobody has judged yet. A field
 * left out takes its default (or, in a change, stays as it is); null always means the default.
 */
import type { JsonObject } from '../ids.ts';
import type { GapPolicy, MisfirePolicy, OverlapTimePolicy, ScheduleType } from '../schedule/schedule.ts';
import type { OverlapPolicy } from './job.ts';
import type { Priority } from './priority.ts';

type Given<T> = T | null | undefined;

/** ONE_TIME and RECURRING leave the exact type to the other fields. */
export type ScheduleTypeWord = ScheduleType | 'ONE_TIME' | 'RECURRING';

/** ISO 8601, or seconds since 1970. */
export type InstantInput = string | number;

export interface ScheduleInput {
  readonly scheduleType?: Given<ScheduleTypeWord>;
  /** FUTURE: the instant. INTERVAL: where the rhythm is counted from. */
  readonly scheduleTime?: Given<InstantInput>;
  readonly cronExpression?: Given<string>;
  readonly interval?: Given<string | number>;
  readonly frequency?: Given<string>;
  readonly timeZone?: Given<string>;
  readonly startAt?: Given<InstantInput>;
  readonly endAt?: Given<InstantInput>;
  readonly daylightSaving?: Given<{
    readonly gap?: Given<GapPolicy>;
    readonly overlap?: Given<OverlapTimePolicy>;
  }>;
  readonly spreadSeconds?: Given<number>;
}

export interface MisfireInput {
  readonly policy?: Given<MisfirePolicy['kind']>;
  readonly maxRuns?: Given<number>;
  readonly windowSeconds?: Given<number>;
}

export interface RetryInput {
  readonly strategy?: Given<'none' | 'fixed' | 'exponential'>;
  readonly delaySeconds?: Given<number>;
  readonly maxDelaySeconds?: Given<number>;
  readonly jitter?: Given<boolean>;
  readonly deadlineSeconds?: Given<number>;
}

export interface JobInput extends ScheduleInput {
  readonly name?: Given<string>;
  readonly namespace?: Given<string>;
  readonly userId?: Given<string>;
  readonly handler?: Given<string>;
  readonly payload?: Given<JsonObject>;
  readonly priority?: Given<Priority>;
  readonly maxRetries?: Given<number>;
  readonly retry?: Given<RetryInput>;
  readonly misfire?: Given<MisfireInput>;
  readonly maxConcurrency?: Given<number>;
  readonly overlap?: Given<OverlapPolicy>;
  readonly timeoutSeconds?: Given<number>;
  readonly startTimeoutSeconds?: Given<number>;
  readonly labels?: Given<Readonly<Record<string, string>>>;
  readonly resources?: Given<Readonly<Record<string, number>>>;
}

/** What a change names; everything else of the job stays. */
export type JobPatch = JobInput;
