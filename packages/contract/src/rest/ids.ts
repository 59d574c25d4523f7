/** Ids in paths and queries. What is no UUID cannot be the id of anything, and never reaches the storage. */
import { type ErrorCode, Refusal } from '@carillon/domain';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const NOT_FOUND = {
  job: 'job_not_found',
  run: 'run_not_found',
  'dead letter': 'dead_letter_not_found',
  user: 'user_not_found',
  key: 'key_not_found',
  session: 'session_not_found',
} as const satisfies Record<string, ErrorCode>;

export function readId(given: string, what: keyof typeof NOT_FOUND): string {
  const id = given.toLowerCase();
  if (UUID.test(id)) return id;
  throw new Refusal(
    NOT_FOUND[what],
    `The id of a ${what} is a UUID, such as 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f.`,
  );
}
