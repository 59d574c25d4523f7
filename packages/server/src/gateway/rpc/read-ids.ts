/** What calls name things by. What is no UUID cannot be the id of anything, and never reaches the storage. */
import { readId, rpc } from '@carillon/contract';
import { type JobId, Refusal, type RunId } from '@carillon/domain';

export const idOf = {
  job: (given: string) => readId(present(given, 'job_id'), 'job') as JobId,
  run: (given: string) => readId(present(given, 'run_id'), 'run') as RunId,
  deadLetter: (given: string) => readId(present(given, 'run_id'), 'dead letter') as RunId,
  user: (given: string) => readId(present(given, 'user_id'), 'user'),
  key: (given: string) => readId(present(given, 'key_id'), 'key'),
  /** No UUID: it has the name that its process gave it. */
  worker: (given: string) => rpc.storable(present(given, 'worker_id'), 'worker_id'),
  namespace: (given: string) => rpc.storable(present(given, 'name'), 'name'),
};

export function present(given: string, field: string): string {
  if (given !== '') return given;
  throw new Refusal('field_missing', `${field} is missing.`, { field });
}
