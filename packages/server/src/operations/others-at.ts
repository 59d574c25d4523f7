/**
 * How many other jobs of a namespace fire at the same instants: what a person who writes "at midnight" ought to know. Counted by the
 * index of next fires, up to a bound: the jobs that fire next where the schedule itself fires from now on, and at the first instants
 * that are shown. Where their rules name later instants too, they are counted there as well. A job that fires more often than the schedule looked at may be missing.
 */
import {
  type Caller,
  isOccurrence,
  isRecurring,
  type JobId,
  may,
  nextFires,
  type Schedule,
  visibleTo,
} from '@carillon/domain';
import type { FiresAt } from '../storage/insight-store.ts';
import type { OperationPorts } from './operation-ports.ts';

export interface OthersAt {
  readonly atMs: number;
  readonly count: number;
  /** There are more: not all were counted. */
  readonly more: boolean;
}

/** More are not told apart. */
export const OTHERS_MAX = 1_000;
/** Instants that jobs are looked for at, those that are counted at, and rules that are asked: bounds of one answer. */
const LOOKED_AT_MAX = 10;
const AHEAD_MAX = 3;
const COUNTED_AT_MAX = 50;
const RULES_MAX = 100;

export interface OthersQuery {
  readonly schedule: Schedule;
  readonly namespace: string;
  readonly fires: readonly number[];
  readonly exceptJobId: JobId | undefined;
  readonly nowMs: number;
}

/** Instants without others are left out. A schedule with a spread starts somewhere beside them: it is in nobody's way. */
export async function othersAt(
  { storage, slices }: Pick<OperationPorts, 'storage' | 'slices'>,
  caller: Caller,
  { schedule, namespace, fires, exceptJobId, nowMs }: OthersQuery,
): Promise<readonly OthersAt[]> {
  if (!may(caller, 'jobs.read') || (isRecurring(schedule) && schedule.spreadMs > 0)) return [];
  const visible = visibleTo(caller, 'jobs.read');
  const ahead = await slices.run(() => nextFires(schedule, nowMs, AHEAD_MAX));
  const atMs = [...new Set([...ahead, ...fires])].slice(0, LOOKED_AT_MAX);
  const found = await storage.insight.firesAt({ atMs, namespace, visible, exceptJobId });
  const rules = found
    .filter((one) => one.schedule.spreadMs === 0)
    .sort((a, b) => b.count - a.count)
    .slice(0, RULES_MAX);
  if (rules.length === 0) return [];
  const others: OthersAt[] = [];
  for (const instantMs of fires.slice(0, COUNTED_AT_MAX)) {
    const there = await slices.run(() => rules.filter((rule) => firesThere(rule, instantMs)));
    const count = there.reduce((sum, rule) => sum + rule.count, 0);
    if (count === 0) continue;
    const more = count > OTHERS_MAX || found.length > RULES_MAX || there.some(({ partial }) => partial);
    others.push({ atMs: instantMs, count: Math.min(count, OTHERS_MAX), more });
  }
  return others;
}

function firesThere({ atMs, schedule }: FiresAt, instantMs: number): boolean {
  return atMs === instantMs || (atMs < instantMs && isOccurrence(schedule, instantMs));
}
