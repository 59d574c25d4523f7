/** Why a server cannot run jobs, in words: for its readiness. */
import { type Clock, sleep } from '@carillon/foundation';
import type { WorkerRuntime } from '@carillon/worker';
import type { Dispatcher } from './dispatcher/dispatcher.ts';
import type { MemberStore } from './storage/member-store.ts';

const READY_ANSWER_MS_MAX = 2_000;
/** A shorter fault is no reason to send requests to another server. */
const START_FAULT_MS_MIN = 5_000;

/** Why no run can start although the database answers: most likely, rows are locked. */
export function startFaults({
  worker,
  dispatcher,
}: {
  worker: Pick<WorkerRuntime, 'boundReachedMs' | 'unrecordedCount'>;
  dispatcher: Pick<Dispatcher, 'unansweredMs'>;
}): string[] {
  const reasons: string[] = [];
  const seconds = (ms: number) => `${Math.floor(ms / 1_000)} s`;
  const { boundReachedMs = 0, unrecordedCount } = worker;
  const { unansweredMs } = dispatcher;
  if (boundReachedMs >= START_FAULT_MS_MIN)
    reasons.push(
      `no runs are started: ${unrecordedCount} outcomes could not be recorded for ${seconds(boundReachedMs)}`,
    );
  if (unansweredMs >= START_FAULT_MS_MIN)
    reasons.push(`no run could be claimed for ${seconds(unansweredMs)}: the database does not answer claims`);
  return reasons;
}

/** The check must not hang with the database. */
export async function databaseFault(members: MemberStore, clock: Clock): Promise<string | undefined> {
  const answered = new AbortController();
  const answer = members.serverTimeMs().then(
    () => undefined,
    () => 'the database does not answer',
  );
  const late = sleep(clock, READY_ANSWER_MS_MAX, answered.signal).then(
    () => `the database has not answered for ${READY_ANSWER_MS_MAX / 1_000} s`,
  );
  try {
    return await Promise.race([answer, late]);
  } finally {
    answered.abort();
  }
}
