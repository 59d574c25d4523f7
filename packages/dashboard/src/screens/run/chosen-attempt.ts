/**
 * The attempt that an address names: by its number, and by its epoch where an attempt was interrupted and the next one has its number, as
 * the address of a log does. Pure.
 */
import type { Run } from '@carillon/client';

export interface AttemptSearch {
  readonly attempt?: number | undefined;
  readonly epoch?: number | undefined;
}

/** undefined: none is named, or there is none like it. */
export function chosenAttempt(attempts: readonly Run[], { attempt, epoch }: AttemptSearch): Run | undefined {
  const fitting = attempts.filter(
    (one) =>
      (epoch === undefined || one.epoch === epoch) &&
      (attempt === undefined || one.attempt_number === attempt),
  );
  if (attempt === undefined && epoch === undefined) return undefined;
  return fitting.reduce<Run | undefined>(
    (latest, one) => (latest && latest.epoch > one.epoch ? latest : one),
    undefined,
  );
}

/** undefined: all of them. */
export function searchFor(attempts: readonly Run[], chosen: Run | undefined): AttemptSearch {
  if (chosen === undefined) return { attempt: undefined, epoch: undefined };
  const { attempt_number: number, epoch } = chosen;
  const shared = attempts.filter((one) => one.attempt_number === number).length > 1;
  return { attempt: number, epoch: shared ? epoch : undefined };
}

/** An interrupted attempt does not count: the next one has its number. */
export function attemptName(attempts: readonly Run[], { attempt_number: number, epoch }: Run): string {
  const isAgain = attempts.some((one) => one.attempt_number === number && one.epoch < epoch);
  return `${number}${isAgain ? ' (again)' : ''}`;
}
