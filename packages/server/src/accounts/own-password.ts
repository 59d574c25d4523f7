/**
 * When a person must show their password besides the session or key they came with. Whoever stole one of those gets nothing from it
 * that lasts longer than it does, and no new password.
 */
import { type Caller, may, Refusal, type User } from '@carillon/domain';
import type { AccountParts } from './accounts.ts';
import { countAttempt } from './count-attempt.ts';

/** However long the credential lasts: what it made on its own is over this long after it was revoked. */
const WITHOUT_PASSWORD_MS_MAX = 30 * 24 * 3_600_000;

const PROVEN_MS = 60 * 60_000;

/** Counted like an attempt to sign in. */
export async function requireOwnPassword(
  parts: AccountParts,
  caller: Caller,
  { user, password = '' }: { user: User; password: string | undefined },
): Promise<void> {
  const { store, passwords } = parts;
  const whose = async () => ({ actor: caller, user });
  const attempt = await countAttempt(parts, { name: user.name, actor: caller, whose });
  if (!(await passwords.verify(password, await store.passwordHashOf(user.userId)))) {
    const fix = 'Give the password that you sign in with.';
    throw new Refusal('field_invalid', 'This is not your password.', { field: 'current_password', fix });
  }
  await attempt.succeeded();
}

/**
 * A person's key that outlives what they came with takes their password, and so does every key that is not their own. A key of nobody
 * makes none that outlives it.
 */
export async function requireProofForKey(
  parts: AccountParts,
  caller: Caller,
  key: { isOwn: boolean; expiresAtMs: number | undefined; currentPassword: string | undefined },
): Promise<void> {
  if (caller.userId === undefined) {
    const endMs = caller.credential?.expiresAtMs;
    if (endMs === undefined || isFreshlyProven(caller, parts.clock.now())) return;
    if (key.expiresAtMs !== undefined && key.expiresAtMs <= endMs) return;
    const what = caller.credential?.kind === 'session' ? 'session' : 'key';
    const message = `expires_at must be at most ${new Date(endMs).toISOString()}, when the ${what} that asks expires.`;
    throw new Refusal('field_invalid', message, { field: 'expires_at' });
  }
  const credentialMs = caller.credential?.expiresAtMs ?? Number.POSITIVE_INFINITY;
  const latestMs = Math.min(credentialMs, parts.clock.now() + WITHOUT_PASSWORD_MS_MAX);
  const isLasting = key.expiresAtMs === undefined || key.expiresAtMs > latestMs;
  if (!isLasting && key.isOwn) return;
  const what = isLasting
    ? `A key that lasts longer than until ${new Date(latestMs).toISOString()}`
    : 'A key that is not your own';
  const { currentPassword } = key;
  if ((await showsPassword(parts, caller, { what, currentPassword })) || !isLasting) return;
  if (isFreshlyProven(caller, parts.clock.now())) return;
  if (!neverExpires(caller) || !may(caller, 'keys.manage')) throw passwordRequired(what);
}

/**
 * A user, their grants and their password last longer than a session or a key that expires: whoever gives them shows their own
 * password, or has none and came with what lasts as long.
 */
export async function requirePasswordToGive(
  parts: AccountParts,
  caller: Caller,
  currentPassword: string | undefined,
): Promise<void> {
  const what = 'Adding or enabling a user, and giving them grants or a password,';
  if ((await showsPassword(parts, caller, { what, currentPassword })) || neverExpires(caller)) return;
  if (isFreshlyProven(caller, parts.clock.now())) return;
  if (caller.credential?.provenAtMs !== undefined) {
    const message = `${what} takes that you signed in within the last ${PROVEN_MS / 60_000} minutes: sign in again.`;
    throw new Refusal('forbidden', message);
  }
  const message = `${what} takes a key that does not expire, or the admin key: ${caller.name} expires.`;
  throw new Refusal('forbidden', message);
}

/** Nobody gets a removed user back. Taking one away gives nothing that lasts: without a password to show, every key may. */
export async function requirePasswordToRemove(
  parts: AccountParts,
  caller: Caller,
  currentPassword: string | undefined,
): Promise<void> {
  await showsPassword(parts, caller, { what: 'Removing a user', currentPassword });
}

/** False: the caller has none, as keys of nobody and users who cannot sign in. */
async function showsPassword(
  parts: AccountParts,
  caller: Caller,
  { what, currentPassword: password }: { what: string; currentPassword: string | undefined },
): Promise<boolean> {
  if (caller.userId === undefined) return false;
  const user = await parts.store.user(caller.userId);
  // A removed user may be known here for a few seconds more.
  if (!user) throw new Refusal('unauthorized', 'Your user was removed.');
  if (!user.hasPassword) return false;
  if (password === undefined) throw passwordRequired(what);
  await requireOwnPassword(parts, caller, { user, password });
  return true;
}

function passwordRequired(what: string): Refusal {
  const message = `${what} takes your password.`;
  return new Refusal('password_required', message, { field: 'current_password' });
}

/** There is no password to show: that they signed in not long ago stands for it. */
function isFreshlyProven({ credential }: Caller, nowMs: number): boolean {
  const { provenAtMs } = credential ?? {};
  return provenAtMs !== undefined && nowMs - provenAtMs <= PROVEN_MS;
}

/** The admin key, and keys without an end; not the secret before a rotation, which ends with the overlap. */
function neverExpires({ credential }: Caller): boolean {
  return credential?.expiresAtMs === undefined;
}
