/** Dead letters: runs that failed for good, kept until somebody reads or redrives them. */
import {
  type Action,
  actorOf,
  actorText,
  BULK_LETTERS_MAX,
  type Caller,
  type JobId,
  letterShownTo,
  type Refusal,
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
import { inputOf, maySearchErrors } from './runs.ts';
import { announceChange } from './support/announce.ts';
import { type BulkLanes, type Charge, mapInParallel, orRefused } from './support/in-parallel.ts';
import { jobCancelled, jobGone, visibleDeadLetter } from './support/visibility.ts';

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
  /** False: it was redriven before, as this run. */
  readonly added: boolean;
}

export interface BulkRedriveRequest {
  /** Which: those of a selection, or those of these runs. */
  readonly of:
    | {
        readonly selection: Omit<DeadLetterQuery, 'visible' | 'handled' | 'before' | 'limit'>;
        readonly before?: DeadLetterCursor | undefined;
        readonly limit: number;
      }
    | { readonly runIds: readonly RunId[] };
  readonly dryRun: boolean;
  readonly charge?: Charge;
}

export interface BulkRedriveResult {
  readonly runId: RunId;
  /** unchanged: it was redriven before. */
  readonly outcome: 'redriven' | 'unchanged' | 'refused';
  readonly jobId?: JobId | undefined;
  readonly newRunId?: RunId | undefined;
  readonly error?: Refusal;
}

export interface BulkRedriveReport {
  readonly matched: number;
  readonly redriven: number;
  readonly unchanged: number;
  /** Their job was cancelled or removed, for instance. */
  readonly refused: number;
  readonly runIds: readonly RunId[];
  /** One for each; in a dry run, only those that were named and cannot be redriven. */
  readonly results: readonly BulkRedriveResult[];
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
    const visible = visibleTo(
      caller,
      query.error === undefined ? action : maySearchErrors(caller, query, undefined),
    );
    const { letters, stoppedAt } = await runs.deadLetters({ ...query, visible, limit: query.limit + 1 });
    const page = letters.slice(0, query.limit);
    return { letters: page, next: letters.length > query.limit ? page.at(-1) : stoppedAt };
  }

  /** Starts a new run for a dead letter, with the input of the run that died. A repeated request answers the run that the first one made. */
  async function redriveDeadLetter(caller: Caller, deadRunId: RunId): Promise<RedrivenLetter> {
    const action = 'dead_letters.redrive';
    const { letter, job } = await visibleDeadLetter(ports, { caller, runId: deadRunId, action });
    const { jobId, redrivenAs } = letter;
    const redriven = (runId: RunId, added: boolean) => ({ jobId, runId, redrivenFrom: deadRunId, added });
    if (redrivenAs) return redriven(redrivenAs, false);

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
      await ports.handlers.checkPayload({ handler, namespace, payload: request.payload });
    }
    const audit = auditEntry(caller, change, nowMs);
    const repeat = { ...request, originRunId: deadRunId, requestedBy: actorText(actorOf(caller)) };
    if (!(await runs.redrive(deadRunId, { runId, nowMs, request: repeat, audit }))) {
      const current = await runs.deadLetter(deadRunId);
      if (current?.redrivenAs) return redriven(current.redrivenAs, false);
      throw await jobGone(ports, jobId);
    }
    if (job) announceChange(ports, job, nowMs);
    return redriven(runId, true);
  }

  async function redriveOne(caller: Caller, deadRunId: RunId): Promise<BulkRedriveResult> {
    const { jobId, runId, added } = await redriveDeadLetter(caller, deadRunId);
    return { runId: deadRunId, outcome: added ? 'redriven' : 'unchanged', jobId, newRunId: runId };
  }

  /** As redriving it would refuse it for its job. */
  async function requireRedrivable(caller: Caller, runId: RunId): Promise<BulkRedriveResult> {
    const action = 'dead_letters.redrive';
    const { letter, job } = await visibleDeadLetter(ports, { caller, runId, action });
    if (!letter.redrivenAs && job?.status === 'CANCELLED') throw jobCancelled(letter.jobId);
    return { runId, outcome: 'unchanged' };
  }

  async function chosen(
    caller: Caller,
    of: BulkRedriveRequest['of'],
  ): Promise<Pick<BulkRedriveReport, 'runIds' | 'next'>> {
    const action = 'dead_letters.redrive';
    if ('runIds' in of) {
      requireMay(caller, action);
      return { runIds: [...new Set(of.runIds)], next: undefined };
    }
    const limit = Math.min(of.limit, BULK_LETTERS_MAX);
    const query = { ...of.selection, handled: false, limit, before: of.before };
    const { letters, next } = await select(caller, action, query);
    return { runIds: letters.map(({ runId }) => runId), next };
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
      const { of, dryRun, charge = () => undefined } = request;
      const { runIds, next } = await chosen(caller, of);
      charge(runIds.length);
      // What was selected is there; what is named may not be.
      const tried = dryRun && !('runIds' in of) ? [] : runIds;
      const attempt = dryRun ? requireRedrivable : redriveOne;
      const results = await mapInParallel(tried, (runId) =>
        orRefused<BulkRedriveResult>(
          () => lanes.run(() => attempt(caller, runId)),
          (error) => ({ runId, outcome: 'refused', error }),
        ),
      );
      const count = (outcome: BulkRedriveResult['outcome']) =>
        results.filter((one) => one.outcome === outcome).length;
      const unknown = results.filter(({ error }) => error?.code === 'dead_letter_not_found').length;
      return {
        matched: runIds.length - unknown,
        redriven: count('redriven'),
        unchanged: dryRun ? 0 : count('unchanged'),
        refused: count('refused'),
        runIds,
        results: dryRun ? results.filter(({ outcome }) => outcome === 'refused') : results,
        next,
      };
    },
  };
}
