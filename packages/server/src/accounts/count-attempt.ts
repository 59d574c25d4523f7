/**
 * An attempt to show a password, a key or a ticket, counted before anything is compared. The audit log is told once when a limit is
 * reached: from then on nothing is compared, and single attempts are not recorded.
 */
import type { Caller, User } from '@carillon/domain';
import type { AccountParts } from './accounts.ts';

/** name: what the attempt is counted by, besides its address. whose: asked only when a limit is reached. */
export function countAttempt(
  { signIns, audit }: AccountParts,
  { name, actor, whose }: { name: string; actor: Caller; whose?: () => Promise<Attempted> },
): Promise<{ succeeded(): Promise<void> }> {
  return signIns.begin({ name, address: actor.origin.address }, async ({ countedPer, untilMs }) => {
    const attempted = (await whose?.()) ?? { actor, user: undefined };
    const after = {
      counted_per: countedPer.map((of) => (of === 'nameFromAddress' ? 'name_from_address' : of)),
      until_at: new Date(untilMs).toISOString(),
    };
    const subject = { kind: 'user', id: attempted.user?.userId ?? 'unknown' };
    await audit.record(attempted.actor, { action: 'session.locked', namespace: undefined, subject, after });
  });
}

interface Attempted {
  readonly actor: Caller;
  /** Undefined: nobody has the name, which is not recorded then. */
  readonly user: User | undefined;
}
