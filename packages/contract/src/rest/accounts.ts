/** Namespaces, people, keys, sessions and the audit log: bodies, queries and answers. No answer holds a hash or a password. */
import {
  type Action,
  type Actor,
  type Caller,
  type Grant,
  hasControlCharacter,
  type Namespace,
  parseInstant,
  Refusal,
  ROLES,
  refuseValue,
  type Session,
  SIGN_IN_METHODS,
  type SignInMethod,
  type User,
} from '@carillon/domain';
import { z } from 'zod';
import { answerOf, instant, instantText, jsonValue } from './answer.ts';
import type { Shape } from './shape.ts';
import { continuing, cursor, labels, paging, readCursor, readId, text, yesOrNo } from './values.ts';

/** What a database can hold as text. */
const stored = (max: number) =>
  z
    .string()
    .max(max, { error: `is longer than ${max} characters` })
    .refine((value) => value.isWellFormed() && !value.includes('\u0000'), {
      error: 'holds a character that cannot be stored',
    });
/** Names are shown in one line, on terminals too. */
const ofOneLine = (max: number) =>
  stored(max).refine((value) => !hasControlCharacter(value), { error: 'holds a control character' });
export const named = (max: number) =>
  ofOneLine(max)
    .min(1, { error: 'is empty' })
    .refine((value) => value.trim() !== '', { error: 'is empty' });
/** Longer than any that is accepted, so that what is wrong with it is said by one rule alone. */
export const password = z.string().max(1_000, { error: 'is longer than 1000 characters' });
const secretText = z
  .string()
  .min(1, { error: 'is empty' })
  .max(1_000, { error: 'is longer than 1000 characters' });
const ownPassword = password.optional().describe('Your own. Keys of nobody need none.');

const grant = z
  .strictObject({
    namespace: z.string().describe('A namespace, or * for all of them and for what belongs to none.'),
    role: z.enum(ROLES),
    own_only: z.boolean().default(false).describe('Only for jobs whose user_id is theirs.'),
  })
  .meta({ id: 'GrantBody' });
export const grants = z.array(grant).max(200, { error: 'has more than 200 entries' });

export function toGrant(read: z.output<typeof grant>): Grant {
  return { namespace: read.namespace, role: read.role, ownOnly: read.own_only };
}

const description = stored(1_000).describe('For people.');

export const NAMESPACE_BODY = {
  schema: z.strictObject({ name: named(63), description: description.optional() }),
} satisfies Shape;

export const NAMESPACE_CHANGE = {
  schema: z.strictObject({ description: description.optional() }),
} satisfies Shape;

export const USER_BODY = {
  schema: z.strictObject({
    name: named(100).describe('What they sign in with.'),
    display_name: ofOneLine(200).optional(),
    password: password.optional().describe('Left out: they use keys that others make for them.'),
    grants: grants.optional(),
    current_password: ownPassword,
  }),
} satisfies Shape;

export const USER_CHANGE = {
  schema: z.strictObject({
    display_name: ofOneLine(200).optional(),
    disabled: z.boolean().optional(),
    current_password: ownPassword.describe('Your own, to enable a user; keys of nobody need none.'),
  }),
} satisfies Shape;

export const USER_REMOVAL = {
  schema: z.strictObject({ current_password: ownPassword }),
} satisfies Shape;

export const GRANTS_BODY = {
  schema: z.strictObject({ grants, current_password: ownPassword }),
} satisfies Shape;

export const PASSWORD_BODY = {
  schema: z.strictObject({
    password,
    current_password: ownPassword,
    end_keys: z
      .boolean()
      .default(false)
      .describe(
        'Also end the keys that the user made, or rotated with something else than the key, whoever owns them.',
      ),
  }),
} satisfies Shape;

export const SIGN_IN_BODY = {
  schema: z.strictObject({
    // Of whoever was made before names were refused for their characters, too.
    name: stored(200).min(1, { error: 'is empty' }).optional().describe('With password: the name of a user.'),
    password: password.optional(),
    ticket: secretText
      .optional()
      .describe('Instead: what follows #ticket= in the link that the server printed.'),
    key: secretText.optional().describe('Instead: the admin key of the server.'),
  }),
} satisfies Shape;

export type SignInInput =
  | { readonly way: 'password'; readonly name: string; readonly password: string }
  | { readonly way: 'ticket'; readonly ticket: string }
  | { readonly way: 'key'; readonly key: string };

/** One way of signing in, and nothing of another. */
export function toSignIn(read: z.output<typeof SIGN_IN_BODY.schema>): SignInInput {
  const { name, password: given, ticket, key } = read;
  const missing = (field: string) => new Refusal('field_missing', `${field} is missing.`, { field });
  const ways = [name ?? given, ticket, key].filter((way) => way !== undefined).length;
  if (ways > 1) {
    const message = 'Give name and password, or ticket, or key: one of the three.';
    throw new Refusal('field_conflict', message, { field: ticket === undefined ? 'key' : 'ticket' });
  }
  if (ticket !== undefined) return { way: 'ticket', ticket };
  if (key !== undefined) return { way: 'key', key };
  if (name === undefined) throw missing('name');
  if (given === undefined) throw missing('password');
  return { way: 'password', name, password: given };
}

const { limit } = paging;

/** Lists in the order of names. */
export const BY_NAME_QUERY = {
  schema: z.strictObject({ ...continuing('after'), limit }),
} satisfies Shape;

export function toByNameQuery(read: z.output<typeof BY_NAME_QUERY.schema>) {
  return { after: readCursor(read, readText), limit: read.limit };
}

/** A name, as filters take it. */
function readText(given: string): string {
  return text.safeParse(given).data ?? refuseValue('cursor', 'cursor is no name.');
}

/** Lists that are read as a whole, and answered in parts. */
export const PAGE_QUERY = {
  schema: z.strictObject({ cursor, limit }),
} satisfies Shape;

export const WORKERS_QUERY = {
  schema: PAGE_QUERY.schema.extend({
    label: labels
      .optional()
      .describe('Only those with this label, as name:value; given several times, all must hold.'),
    alive: yesOrNo.optional().describe('true: only those that are alive; false: only those that were lost.'),
    handler: text.optional().describe('Only those that offer this handler.'),
  }),
} satisfies Shape;

export const USERS_QUERY = {
  schema: BY_NAME_QUERY.schema.extend({ name: text.optional().describe('Only the user with this name.') }),
} satisfies Shape;

export function toUsersQuery(read: z.output<typeof USERS_QUERY.schema>) {
  return { ...toByNameQuery(read), name: read.name };
}

export const SESSIONS_QUERY = {
  schema: z.strictObject({
    user_id: z.uuid({ error: 'must be the id of a user' }).optional().describe('Left out: your own.'),
    all: yesOrNo.optional().describe('true: of everybody.'),
    ...continuing('after'),
    limit,
  }),
} satisfies Shape;

export function toSessionsQuery(read: z.output<typeof SESSIONS_QUERY.schema>) {
  const { user_id: userId, all, limit } = read;
  return { userId, all, limit, afterSessionId: readCursor(read, (text) => readId(text, 'session')) };
}

const auditFields = z.strictObject({
  namespace: text.optional(),
  actor: text
    .optional()
    .describe('The id or the name of who did it, or of the session or key that they came with.'),
  action: text.optional().describe('What was done, such as jobs.update.'),
  subject_id: text.optional().describe('The id of what it was done to.'),
  from: text.optional().describe('From this instant on.'),
  until: text.optional().describe('Before this instant.'),
  ...continuing('before'),
  limit,
});

export const AUDIT_QUERY = { schema: auditFields } satisfies Shape;

export function toAuditQuery(read: z.output<typeof auditFields>) {
  const { namespace, actor, action, subject_id: subjectId, from, until } = read;
  const beforeId = readCursor(read, readAuditId);
  return {
    limit: read.limit,
    ...(namespace !== undefined && { namespace }),
    ...(actor !== undefined && { actor }),
    ...(action !== undefined && { action }),
    ...(subjectId !== undefined && { subjectId }),
    ...(from !== undefined && { fromMs: parseInstant(from, { field: 'from' }) }),
    ...(until !== undefined && { untilMs: parseInstant(until, { field: 'until' }) }),
    ...(beforeId !== undefined && { beforeId }),
  };
}

function readAuditId(given: string): number {
  return /^\d{1,15}$/.test(given) ? Number(given) : refuseValue('cursor', 'cursor is no audit_id.');
}

export const { answer: namespaceAnswer, view: namespaceView } = answerOf<Namespace>('Namespace')({
  name: [z.string(), ({ name }) => name],
  description: [z.string(), ({ description }) => description],
  created_at: [instant, ({ createdAtMs }) => instantText(createdAtMs)],
});

export const { answer: grantAnswer, view: grantView } = answerOf<Grant>('Grant')({
  namespace: [z.string(), (granted) => granted.namespace],
  role: [z.enum(ROLES), (granted) => granted.role],
  own_only: [z.boolean(), (granted) => granted.ownOnly],
});

export const { answer: userAnswer, view: userView } = answerOf<User>('User')({
  user_id: [z.uuid(), (user) => user.userId],
  name: [z.string(), (user) => user.name],
  display_name: [z.string(), (user) => user.displayName],
  disabled: [z.boolean(), (user) => user.disabled],
  has_password: [z.boolean(), (user) => user.hasPassword],
  issuer: [
    z.string().nullable().describe('The OpenID Connect provider that they sign in with.'),
    (user) => user.identity?.issuer ?? null,
  ],
  grants: [z.array(grantAnswer), (user) => user.grants.map(grantView)],
  created_at: [instant, (user) => instantText(user.createdAtMs)],
  updated_at: [instant, (user) => instantText(user.updatedAtMs)],
});

export const signedInAnswer = z
  .strictObject({
    user: userAnswer.nullable().describe('null: the session is one of the admin key, and belongs to nobody.'),
    csrf_token: z.string(),
    expires_at: instant,
  })
  .meta({ id: 'SignedIn' });

export const sessionMethodsAnswer = z
  .strictObject({
    password: z.boolean().describe('With name and password.'),
    ticket: z.boolean().describe('With the link that the server printed.'),
    key: z.boolean().describe('With the admin key.'),
    oidc: z
      .strictObject({
        label: z.string().describe('For the button.'),
        start_url: z.string().describe('Where the browser goes; next=/path says where it comes back to.'),
        logout_url: z
          .string()
          .describe('Where the browser goes after signing out, to leave the provider too.'),
      })
      .nullable(),
  })
  .meta({ id: 'SignInMethods' });

type SessionOfCaller =
  | { readonly csrfToken: string; readonly expiresAtMs: number; readonly method: SignInMethod }
  | undefined;

/** The caller as the server sees them. */
const callerFields = answerOf<{ caller: Caller; session: SessionOfCaller; commandFlags: string | undefined }>(
  'Caller',
)({
  kind: [z.enum(['server', 'user', 'key']), ({ caller }) => caller.kind],
  id: [z.string(), ({ caller }) => caller.id],
  name: [z.string(), ({ caller }) => caller.name],
  user_id: [z.string().nullable(), ({ caller }) => caller.userId ?? null],
  user_name: [
    z.string().nullable().describe('The name of that user.'),
    ({ caller }) => caller.userName ?? null,
  ],
  grants: [z.array(grantAnswer), ({ caller }) => caller.grants.map(grantView)],
  scopes: [z.array(z.string()).nullable(), ({ caller }) => scopesView(caller.scopes)],
  method: [
    z.enum(SIGN_IN_METHODS).nullable().describe('Of a session: how it was opened.'),
    ({ session }) => session?.method ?? null,
  ],
  csrf_token: [
    z.string().nullable().describe('Of a session: for X-CSRF-Token.'),
    ({ session }) => session?.csrfToken ?? null,
  ],
  expires_at: [
    instant.nullable().describe('When the session ends at the latest, or the key of a person expires.'),
    ({ session, caller }) => instantText(session?.expiresAtMs ?? caller.credential?.expiresAtMs),
  ],
  command_flags: [
    z
      .string()
      .nullable()
      .describe(
        'Of administrators of all namespaces: what `carillon` needs on the machine of this server to find it, such as ` --data /srv/carillon`; empty: nothing.',
      ),
    ({ commandFlags }) => commandFlags ?? null,
  ],
});

export const callerAnswer = callerFields.answer;

export function callerView(caller: Caller, session: SessionOfCaller, commandFlags?: string) {
  return callerFields.view({ caller, session, commandFlags });
}

export const { answer: sessionAnswer, view: sessionView } = answerOf<{
  session: Session;
  caller: Caller;
}>('Session')({
  session_id: [z.uuid(), ({ session }) => session.sessionId],
  user_id: [z.uuid().nullable().describe('null: of the admin key.'), ({ session }) => session.userId ?? null],
  user_name: [z.string().nullable(), ({ session }) => session.userName ?? null],
  method: [z.enum(SIGN_IN_METHODS).describe('How it was opened.'), ({ session }) => session.method],
  current: [
    z.boolean().describe('The request came with this one.'),
    ({ session, caller }) => session.sessionId === caller.credential?.id,
  ],
  created_at: [instant, ({ session }) => instantText(session.createdAtMs)],
  last_seen_at: [instant.describe('To the minute.'), ({ session }) => instantText(session.lastSeenAtMs)],
  expires_at: [instant, ({ session }) => instantText(session.expiresAtMs)],
  address: [z.string().nullable(), ({ session }) => session.address ?? null],
  user_agent: [z.string().nullable(), ({ session }) => session.userAgent ?? null],
});

interface AuditFacts {
  readonly auditId: number;
  readonly atMs: number;
  readonly actor: Actor;
  readonly action: string;
  readonly namespace: string | undefined;
  readonly subject: { readonly kind: string; readonly id: string };
  readonly subjectName: string | undefined;
  /** JSON text, as is after. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly origin: Caller['origin'];
}

const via = z
  .strictObject({ kind: z.string(), id: z.string(), name: z.string().nullable() })
  .describe(
    'The session or key that the person came with; of a session of the admin key, name says what opened it: admin_key or ticket.',
  );

export const { answer: auditAnswer, view: auditView } = answerOf<AuditFacts>('AuditEntry')({
  audit_id: [z.int(), (entry) => entry.auditId],
  at: [instant, (entry) => instantText(entry.atMs)],
  actor: [
    z.strictObject({ kind: z.string(), id: z.string(), name: z.string(), via: via.nullable() }),
    ({ actor: { kind, id, name, via: came } }) => ({
      ...{ kind, id, name },
      via: came ? { kind: came.kind, id: came.id, name: came.name ?? null } : null,
    }),
  ],
  action: [z.string(), (entry) => entry.action],
  namespace: [z.string().nullable(), (entry) => entry.namespace ?? null],
  subject: [
    z.strictObject({
      kind: z.string(),
      id: z.string(),
      name: z.string().nullable().describe('Of a job, user or key that is there: what it is called now.'),
    }),
    ({ subject, subjectName }) => ({ ...subject, name: subjectName ?? null }),
  ],
  before: [
    z.unknown().describe('The fields that changed, as they were.'),
    (entry) => jsonValue(entry.before),
  ],
  after: [z.unknown().describe('The fields that changed, as they are.'), (entry) => jsonValue(entry.after)],
  address: [z.string().nullable(), ({ origin }) => origin.address ?? null],
  user_agent: [z.string().nullable(), ({ origin }) => origin.userAgent ?? null],
  request_id: [z.string().nullable(), ({ origin }) => origin.requestId ?? null],
});

export function scopesView(scopes: ReadonlySet<Action> | undefined): Action[] | null {
  return scopes === undefined ? null : [...scopes];
}
