/** Schedules: previews what one means before a job is created with it: in words, its next instants, and clock changes. */
import {
  type Caller,
  type DayCount,
  type DaylightSavingWarning,
  daylightSavingWarnings,
  defineJob,
  describeSchedule,
  fixedOffsetWarning,
  homeOf,
  isRecurring,
  type JobId,
  type JobInput,
  localText,
  nextFire,
  occurrencesPerDay,
  Refusal,
  refuseValue,
  requireMay,
  type Schedule,
} from '@carillon/domain';
import type { OperationPorts } from './operation-ports.ts';
import { type OthersAt, othersAt } from './others-at.ts';
import { visibleJob } from './support/visibility.ts';

export interface PreviewRequest {
  /** The fields of a job that make its schedule; others are ignored. */
  readonly schedule: JobInput;
  /** A job that is there: without a schedule its own is shown, and what of it is skipped. It is none of the others. */
  readonly jobId?: JobId | undefined;
  /** Where others are counted; that of the job when left out. */
  readonly namespace?: string | undefined;
  readonly count: number;
  /** Counted from here instead of from now. */
  readonly afterMs?: number | undefined;
  /** No instants after this one, and how many there are on each day until then. */
  readonly untilMs?: number | undefined;
}

/** What people are surprised by: changes of the clock, and a zone whose clock never changes (`fixed_offset`). */
export interface ScheduleWarning extends Omit<DaylightSavingWarning, 'kind'> {
  readonly kind: DaylightSavingWarning['kind'] | 'fixed_offset';
}

export interface SchedulePreview {
  readonly schedule: Schedule;
  readonly description: string;
  readonly zone: string;
  readonly fires: readonly ShownFire[];
  readonly warnings: readonly ScheduleWarning[];
  /** On the days of the zone; empty unless `untilMs` was given. */
  readonly perDay: readonly DayCount[];
  /** Other jobs that fire at the first of these instants. */
  readonly othersAt: readonly OthersAt[];
}

export interface ShownFire {
  readonly atMs: number;
  readonly local: string;
  /** Who has skipped it; undefined: nobody. */
  readonly skippedBy: string | undefined;
}

/** Warnings cover this much time ahead, so that a clock change is reported before it happens. */
const YEAR_MS = 366 * 24 * 3_600_000;
/** Six weeks: whatever a page of a calendar shows. */
const DAYS_MAX = 42;
const DAY_MS = 24 * 3_600_000;

export function scheduleOperations(ports: OperationPorts) {
  const { accounts, clock, slices } = ports;
  return {
    async previewSchedule(caller: Caller, request: PreviewRequest): Promise<SchedulePreview> {
      requireMay(caller, 'schedules.preview');
      await accounts.namespaces.requireKnown(caller, request.namespace);
      const afterMs = request.afterMs ?? clock.now();
      const { jobId } = request;
      const job = jobId && (await visibleJob(ports, { caller, jobId, action: 'jobs.read' }));
      const isOwn =
        job !== undefined && Object.values(request.schedule).every((value) => value === undefined);
      const { schedule } = isOwn
        ? job
        : await slices.run(() => defineJob({ ...request.schedule, name: 'preview' }, afterMs));
      const zone = isRecurring(schedule) ? schedule.zone : 'UTC';
      const { untilMs: endMs } = request;
      requireWindow(afterMs, endMs);
      const listed = await firesOf(schedule, { afterMs, count: request.count, slices });
      const fires = endMs === undefined ? listed : listed.filter((atMs) => atMs <= endMs);
      // None until then is an answer; none ever is a mistake.
      if (listed.length === 0) {
        throw new Refusal('schedule_never_fires', 'The schedule has no occurrence in that time.');
      }
      const untilMs = Math.max(listed.at(-1)!, afterMs + YEAR_MS);
      return {
        schedule,
        description: describeSchedule(schedule),
        zone,
        fires: fires.map((atMs) => ({
          ...{ atMs, local: localText(zone, atMs) },
          skippedBy: job?.skips?.find((skip) => skip.atMs === atMs)?.by,
        })),
        warnings: [
          ...zoneWarnings(schedule, listed[0]!),
          ...(await slices.run(() => daylightSavingWarnings(schedule, { afterMs, untilMs }))),
        ],
        perDay:
          endMs === undefined
            ? []
            : await slices.run(() => perDay(schedule, { fromMs: afterMs + 1, untilMs: endMs, zone })),
        othersAt: await othersAt(ports, caller, {
          ...{ schedule, fires, exceptJobId: jobId, nowMs: clock.now() },
          namespace: request.namespace ?? job?.namespace ?? homeOf(caller),
        }),
      };
    },
  };
}

function requireWindow(afterMs: number, untilMs: number | undefined): void {
  if (untilMs === undefined) return;
  if (untilMs <= afterMs) refuseValue('until', 'until must be later than after, or than now.');
  if (untilMs - afterMs > DAYS_MAX * DAY_MS) refuseValue('until', `until must be within ${DAYS_MAX} days.`);
}

/** What runs at once runs now. */
function perDay(schedule: Schedule, window: { fromMs: number; untilMs: number; zone: string }): DayCount[] {
  const atMs = schedule.type === 'FUTURE' ? Math.max(schedule.atMs, window.fromMs) : window.fromMs;
  return occurrencesPerDay(isRecurring(schedule) ? schedule : { type: 'FUTURE', atMs }, window);
}

function zoneWarnings(schedule: Schedule, atMs: number): ScheduleWarning[] {
  const message = isRecurring(schedule) ? fixedOffsetWarning(schedule.zone) : undefined;
  return message === undefined ? [] : [{ kind: 'fixed_offset', atMs, message }];
}

/** A one-off whose time has passed runs at once, and so does one without a time. */
async function firesOf(
  schedule: Schedule,
  { afterMs, count, slices }: Pick<OperationPorts, 'slices'> & { afterMs: number; count: number },
): Promise<number[]> {
  if (!isRecurring(schedule))
    return [schedule.type === 'FUTURE' ? Math.max(schedule.atMs, afterMs) : afterMs];
  const fires: number[] = [];
  while (fires.length < count) {
    const fireMs = await slices.run(() => nextFire(schedule, fires.at(-1) ?? afterMs));
    if (fireMs === undefined) break;
    fires.push(fireMs);
  }
  return fires;
}
