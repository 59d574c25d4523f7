/**
 * Accepts many jobs at once. Each is judged by itself: the answers stand in the order asked, and a bad one harms no other. Or
 * all or none (atomic): then a bad one refuses the whole, which says what is wrong with which.
 */

import type { Caller, JobInput } from '@carillon/domain';
import { Refusal, requireMay } from '@carillon/domain';
import type { NewJob } from '../storage/job-store.ts';
import { announceFirst } from './announce.ts';
import { type CreatedJob, createdJob, jobMaker, missingNamespaces } from './new-job.ts';
import type { OperationPorts } from './operation-ports.ts';

/** A request, or the refusal that reading it ended with. */
export type BatchItem = JobInput | Refusal;

export function createJobs(ports: OperationPorts) {
  return async (
    caller: Caller,
    items: readonly BatchItem[],
    options: { idempotencyKey?: string | undefined; atomic?: boolean | undefined } = {},
  ): Promise<(CreatedJob | Refusal)[]> => {
    requireMay(caller, 'jobs.create');
    const readable = items.filter((item): item is JobInput => !(item instanceof Refusal));
    const missing = await missingNamespaces(readable, { caller, ports });
    const make = jobMaker({ caller, missing, ports });
    const { idempotencyKey: key } = options;
    const prepared: (NewJob | Refusal)[] = [];
    const accepted: NewJob[] = [];
    for (let index = 0; index < items.length; index += 1) {
      const item = items[index]!;
      // No key that a client chooses can hold a space, so this is nobody else's.
      const own = key === undefined ? undefined : `${key} ${index}`;
      const made =
        item instanceof Refusal ? item : await ports.slices.run(() => refusing(() => make(item, own)));
      prepared.push(made);
      if (!(made instanceof Refusal)) accepted.push(made);
    }
    if (options.atomic) requireAll(prepared);
    const inserted = accepted.length === 0 ? [] : await insert(ports, accepted, options);

    const created: NewJob[] = [];
    let next = 0;
    const answers = prepared.map((item) => {
      if (item instanceof Refusal) return item;
      const outcome = inserted[next++]!;
      if (outcome.kind === 'inserted') created.push(item);
      return refusing(() => createdJob(outcome, item, ports));
    });
    if (options.atomic) requireAll(answers);
    if (created.length > 0) announceFirst(ports, created);
    return answers;
  };
}

function insert(
  { ingest }: OperationPorts,
  jobs: readonly NewJob[],
  { atomic }: { atomic?: boolean | undefined },
) {
  return atomic ? ingest.acceptAllOrNone(jobs) : ingest.acceptAll(jobs);
}

function requireAll(answers: readonly unknown[]): void {
  const entries = answers.flatMap((answer, index) =>
    answer instanceof Refusal ? [{ index, refusal: answer }] : [],
  );
  if (entries.length === 0) return;
  const message = `${entries.length} of ${answers.length} jobs cannot be created, and so none was.`;
  throw new Refusal('batch_refused', message, { field: 'jobs', entries });
}

function refusing<T>(attempt: () => T): T | Refusal {
  try {
    return attempt();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}
