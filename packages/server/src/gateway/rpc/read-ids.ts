/** Ids as calls carry them. What is no UUID cannot be the id of anything, and never reaches the storage. */
import { readId } from '@carillon/contract';
import { type JobId, Refusal, type RunId } from '@carillon/domain';

export const idOf = {
  job: (given: string) => readId(present(given, 'job_id'), 'job') as JobId,
  run: (given: string) => readId(present(given, 'run_id'), 'run') as RunId,
  deadLetter: (given: string) => readId(present(given, 'run_id'), 'dead letter') as RunId,
};

function present(given: string, field: string): string {
  if (given !== '') return given;
  throw new Refusal('field_missing', `${field} is missing.`, { field });
}
