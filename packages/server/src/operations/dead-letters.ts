/** Dead letters: runs that failed for good, kept until somebody reads or redrives them. */
import {
  type Action,
  actorOf,
  actorText,
  BULK_LETTERS_MAX,
  type Caller,
  type JobId,
  letterShownTo,
  type RunId,
  readRunInput,
  requireMay,
  requireMayInput,
  visibleTo,
} from '@carillon/domain';
import { auditEntry } from '../audit/audit-log.ts';
import { requireSecrets } from '../secrets/secrets.ts';
import type { DeadLetter, DeadLetterCursor, DeadLetterQuery } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';
import { inputOf } from './runs.ts';
import { announceChange } from './support/announce.ts';
import { type BulkLanes, type Charge, countInParallel } from './support/in-parallel.ts';
import { jobGone, visibleDeadLetter } from './support/visibility.ts';

export interface ListedDeadLetters {
  readonly letters: readonly DeadLetter[];
  /** More may follow before this position. Undefined: this is the end. */
  readonly next: DeadLetterCursor | undefined;
}

export interface RedrivenLetter {
  readonly jobId: JobId;
  /** The new run. */
  readonly runId: RunId;
  /** The run that had died. */
  readonly redrivenFrom: RunId;
}

export interface BulkRedriveRequest {
  readonly selection: Omit<DeadLetterQuery, 'visible' | 'handled' | 'before' | 'limit'>;
  readonly dryRun: boolean;
  readonly before?: DeadLetterCursor | undefined;
  readonly limit: number;
  readonly charge?: Charge;
}

export interface BulkRedriveReport {
  readonly matched: number;
  readonly redriven: number;
  /** Their job was cancelled or removed meanwhile. */
  readonly refused: number;
  readonly runIds: readonly RunId[];
  readonly next: DeadLetterCursor | undefined;
}

export function deadLetterOperations(ports: OperationPorts, lanes: BulkLanes) {
  const { clock, random } = ports;
  const { runs } = ports.storage;

  /** The dead letters that the caller may perform this action on, latest first. */
  async function select(
    caller: Caller,
    action: Action,
    query: Omit<DeadLetterQuery, 'visible'>,
  ): Promise<ListedDeadLetters> {
    requireMay(caller, action);
    await ports.accounts.namespaces.requireKnown(caller, query.namespace);
    const visible = visibleTo(caller, action);
    const { letters, stoppedAt } = await runs.deadLetters({ ...query, visible, limit: query.limit + 1 });
    const page = letters.slice(0, query.limit);
    return { letters: page, next: letters.length > query.limit ? page.at(-1) : stoppedAt };
  }

  /** Starts a new run for a dead letter, with the input of the run that died. A repeated request answers the run that the first one made. */
  async function redriveDeadLetter(caller: Caller, deadRunId: RunId): Promise<RedrivenLetter> {
    const action = 'dead_letters.redrive';
    const { letter, job } = await visibleDeadLetter(ports, { caller, runId: deadRunId, action });
    const { jobId, redrivenAs } = letter;
    const redriven = (runId: RunId) => ({ jobId, runId, redrivenFrom: deadRunId });
    if (redrivenAs) return redriven(redrivenAs);

    const runId = random.id() as RunId;
    const nowMs = clock.now();
    const subject = { kind: 'run', id: deadRunId };
    const change = { action, namespace: job?.namespace, subject, after: { runId } };
    const input = job && (await inputOf(ports, deadRunId));
    if (input) requireMayInput(caller, job, { input, given: false });
    const request = input && readRunInput(job, input);
    if (job && request) {
      const { handler, namespace } = job;
      await requireSecrets(ports.storage, caller, { namespace, payload: request.payload });
      await ports.handlers.checkPayload({ handler, payload: request.payload });
    }
    const audit = auditEntry(caller, change, nowMs);
    const repeat = { ...request, originRunId: deadRunId, requestedBy: actorText(actorOf(caller)) };
    if (!(await runs.redrive(deadRunId, { runId, nowMs, request: repeat, audit }))) {
      const current = await runs.deadLetter(deadRunId);
      if (current?.redrivenAs) return redriven(current.redrivenAs);
      throw await jobGone(ports, jobId);
    }
    if (job) announceChange(ports, job, nowMs);
    return redriven(runId);
  }

  return {
    async listDeadLetters(caller: Caller, query: DeadLetterQuery): Promise<ListedDeadLetters> {
      const { letters, next } = await select(caller, 'dead_letters.read', query);
      return { letters: letters.map((letter) => letterShownTo(caller, letter)), next };
    },

    async getDeadLetter(caller: Caller, runId: RunId): Promise<DeadLetter> {
      const { letter } = await visibleDeadLetter(ports, { caller, runId, action: 'dead_letters.read' });
      return letterShownTo(caller, letter);
    },

    redriveDeadLetter,

    /** One request redrives a bounded number and answers where to continue; a dry run redrives none. */
    async bulkRedriveDeadLetters(caller: Caller, request: BulkRedriveRequest): Promise<BulkRedriveReport> {
      const { selection, dryRun, before } = request;
      const limit = Math.min(request.limit, BULK_LETTERS_MAX);
      const query = { ...selection, handled: false, limit, before };
      const { letters, next } = await select(caller, 'dead_letters.redrive', query);
      const runIds = letters.map(({ runId }) => runId);
      request.charge?.(runIds.length);
      const { done, refused } = await countInParallel(dryRun ? [] : runIds, (runId) =>
        lanes.run(() => redriveDeadLetter(caller, runId)),
      );
      return { matched: letters.length, redriven: done, refused, runIds, next };
    },
  };
}
