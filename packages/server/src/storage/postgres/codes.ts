/** The numbers that stand for words in hot tables, both ways, and for UUIDs in the audit log. */
import type { Priority, RunTrigger } from '@carillon/domain';
import type { NewRun } from '../due.ts';

const PRIORITY_CODES: Record<Priority, number> = { low: 0, medium: 1, high: 2 };
const PRIORITY_WORDS: readonly Priority[] = ['low', 'medium', 'high'];

export const CURSOR_KIND = 0;
export const ONCE_KIND = 1;
export const SCHEDULE_KIND = 2;
const KIND_CODES: Record<NewRun['trigger'], number> = {
  once: ONCE_KIND,
  schedule: SCHEDULE_KIND,
  manual: 3,
  redrive: 4,
};
const TRIGGER_WORDS: readonly RunTrigger[] = ['schedule', 'schedule', 'schedule', 'manual', 'redrive'];

export function priorityCode(priority: Priority): number {
  return PRIORITY_CODES[priority];
}

export function priorityWord(code: number): Priority {
  return PRIORITY_WORDS[code]!;
}

export function kindCode(trigger: NewRun['trigger']): number {
  return KIND_CODES[trigger];
}

/** Readers see a one-off's run and a fired occurrence alike: both came from the schedule. */
export function triggerWord(kind: number): RunTrigger {
  return TRIGGER_WORDS[kind]!;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * The first 60 bits of a UUID as decimal digits, which fit into a bigint and are never negative: the audit log finds the jobs that
 * one request made by spans of such numbers. Undefined: it is no UUID.
 */
export function spanPosition(id: string): string | undefined {
  if (!UUID.test(id)) return undefined;
  return BigInt(`0x${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 17)}`).toString();
}
