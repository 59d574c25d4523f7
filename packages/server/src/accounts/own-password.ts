/**
 * When a person must show their password besides the session or key they came with. Whoever stole one of those gets nothing from it
 * that lasts longer than it does, and no new password.
 */
import { type Action, type Caller, may, Refusal, type User } from '@carillon/domain';
import type { AccountParts } from './accounts.ts';

/** However long the credential lasts: what it made on its own is over this long after it was revoked. */
const WITHOUT_PASSWORD_MS_MAX = 30 * 24 * 3_600_000;

/** Counted like an attempt to sign in. */
export async function requireOwnPassword(
  { store, passwords, signIns }: AccountParts,
  caller: Caller,
  { user, password = '' }: { user: User; password: string | undefined },
): Promise<void> {
  const attempt = await signIns.begin({ name: user.name, address: caller.origin.address });
  if (!(await passwords.verify(password, await store.passwordHashOf(user.userId)))) {
    const message = 'current_password is not your password.';
    throw new Refusal('field_invalid', message, { field: 'current_password' });
  }
  await attempt.succeeded();
}

/**
 * A person's key that outlives what they came with takes their password. A key of nobody makes none that outlives it.
 */
export async function requireLifetime(
  parts: AccountParts,
  caller: Caller,
  key: { readonly expiresAtMs: number | undefined; readonly currentPassword: string | undefined },
): Promise<void> {
  if (caller.userId === undefined) {
    const endMs = caller.credential?.expiresAtMs;
    if (endMs === undefined || (key.expiresAtMs !== undefined && key.expiresAtMs <= endMs)) return;
    const message = `expires_at must be at most ${new Date(endMs).toISOString()}, when the key that asks expires.`;
    throw new Refusal('field_invalid', message, { field: 'expires_at' });
  }
  const credentialMs = caller.credential?.expiresAtMs ?? Number.POSITIVE_INFINITY;
  const latestMs = Math.min(credentialMs, parts.clock.now() + WITHOUT_PASSWORD_MS_MAX);
  if (key.expiresAtMs !== undefined && key.expiresAtMs <= latestMs) return;
  const until = new Date(latestMs).toISOString();
  await requireShown(parts, caller, {
    what: `A key that lasts longer than until ${until}`,
    instead: 'keys.manage',
    currentPassword: key.currentPassword,
  });
}

/**
 * A user, their grants and their password last longer than anything that somebody came with: whoever gives them shows their own
 * password. What belongs to nobody has none to show.
 */
export async function requirePasswordToGive(
  parts: AccountParts,
  caller: Caller,
  currentPassword: string | undefined,
): Promise<void> {
  if (caller.userId === undefined) return;
  const what = 'Adding or enabling a user, and giving them grants or a password,';
  await requireShown(parts, caller, { what, instead: 'users.manage', currentPassword });
}

/** Users without a password, who cannot show it, need the permission instead. */
async function requireShown(
  parts: AccountParts,
  caller: Caller,
  given: { what: string; instead: Action; currentPassword: string | undefined },
): Promise<void> {
  const { what, instead, currentPassword: password } = given;
  const user = await parts.store.user(caller.userId!);
  if (user?.hasPassword && password !== undefined) {
    await requireOwnPassword(parts, caller, { user, password });
  } else if (user?.hasPassword || !may(caller, instead)) {
    const message = `${what} takes your password in current_password.`;
    throw new Refusal('password_required', message, { field: 'current_password' });
  }
}
