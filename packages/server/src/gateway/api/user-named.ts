/** Words in filters that stand for whoever asks. */
import { type Caller, Refusal } from '@carillon/domain';

/** user_id=me is the user that jobs of this caller belong to. */
export function userNamed(caller: Caller, userId: string | undefined): string | undefined {
  if (userId !== 'me') return userId;
  if (caller.userId !== undefined) return caller.userId;
  const message = `${caller.name} is no user, so no jobs are "me"; give a user id.`;
  throw new Refusal('field_invalid', message, { field: 'user_id' });
}
