/** One run as people read it: its attempts, what it was asked for with, what became of it, what it repeats and what repeats it. */
import {
  actorText,
  type Caller,
  type CheckpointFacts,
  type DeadLetter,
  inputShownTo,
  isFinal,
  type Job,
  type JsonObject,
  letterShownTo,
  type RunId,
  type RunRepeat,
  runsShownTo,
} from '@carillon/domain';
import type { StoredCheckpoint } from '../storage/run-state-store.ts';
import { MAY_FOLLOW, type RunView } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';
import { entriesAbout } from './support/entries-about.ts';

const REPEATS_MAX = 10;
/** Entries of the audit log that are looked at. */
const ENTRIES_MAX = 100;

export interface RunDetails {
  readonly latest: RunView;
  /** Latest first. */
  readonly attempts: readonly RunView[];
  /** What it was asked for with, merged over the payload of its job. */
  readonly input: JsonObject | undefined;
  /** What its next attempt goes on from. */
  readonly checkpoint: CheckpointFacts | undefined;
  /** Undefined: it was not given up. */
  readonly letter: DeadLetter | undefined;
  /** The ended run that was redriven or run again as this one, and the name of who asked for that. */
  readonly originRunId: RunId | undefined;
  readonly requestedBy: string | undefined;
  /** What it was redriven or run again as, the latest first. */
  readonly repeats: readonly RunRepeat[];
  /** The name of who asked for its end. */
  readonly cancelledBy: string | undefined;
}

export async function describeRun(
  ports: Pick<OperationPorts, 'storage' | 'audit'>,
  caller: Caller,
  { runId, job, attempts }: { runId: RunId; job: Job | undefined; attempts: readonly RunView[] },
): Promise<RunDetails> {
  const { storage } = ports;
  const shown = runsShownTo(caller, job, attempts);
  const latest = shown[0]!;
  const request = latest.trigger === 'schedule' ? undefined : await storage.runs.request(runId);
  const input = request?.input === undefined ? undefined : (JSON.parse(request.input) as JsonObject);
  const checkpoint = await checkpointOf(ports, latest);
  const isEnded = isFinal(latest.status);
  const letter = MAY_FOLLOW.includes(latest.status) ? await storage.runs.deadLetter(runId) : undefined;
  return {
    ...{ latest, attempts: shown, input: inputShownTo(caller, job, input), checkpoint },
    letter: letter && letterShownTo(caller, letter),
    ...{ originRunId: request?.originRunId, requestedBy: request?.requestedBy },
    repeats: isEnded ? await storage.runs.repeatsOf(runId, REPEATS_MAX) : [],
    cancelledBy: await cancelledBy(ports, latest),
  };
}

/** By itself, or with its job. Undefined: it was not cancelled, or the audit log does not know it any more. */
async function cancelledBy(
  { audit }: Pick<OperationPorts, 'audit'>,
  { runId, jobId, status }: RunView,
): Promise<string | undefined> {
  if (status !== 'CANCELLED' && status !== 'CANCELLING') return undefined;
  for (const [subjectId, actions] of [
    [runId, ['runs.cancel']],
    [jobId, ['jobs.cancel', 'jobs.delete']],
  ] as const) {
    const { rows: entries } = await entriesAbout({ audit }, { subjectId, limit: ENTRIES_MAX });
    const entry = entries.find(({ action }) => (actions as readonly string[]).includes(action));
    if (entry) return actorText(entry.actor);
  }
  return undefined;
}

/** A run that has succeeded or was cancelled has none: what may be left of it is about to be removed. */
export async function checkpointOf(
  { storage }: Pick<OperationPorts, 'storage'>,
  { runId, status }: RunView,
): Promise<StoredCheckpoint | undefined> {
  if (status === 'SUCCESS' || status === 'CANCELLED' || status === 'SKIPPED') return undefined;
  return storage.runState.checkpoint(runId);
}
