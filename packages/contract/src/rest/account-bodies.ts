/** Bodies and queries about namespaces, people, keys and sessions. */
import { ACTION_NAMES, type Action, type Grant, parseInstant, ROLES } from '@carillon/domain';
import { z } from 'zod';
import { paging, text } from './query-values.ts';
import type { Shape } from './shape.ts';

/** What a database can hold as text. */
const stored = (max: number) =>
  z
    .string()
    .max(max, { error: `is longer than ${max} characters` })
    .refine((value) => value.isWellFormed() && !value.includes('\u0000'), {
      error: 'holds a character that cannot be stored',
    });
const named = (max: number) => stored(max).min(1, { error: 'is empty' });
/** Longer than any that is accepted, so that what is wrong with it is said by one rule alone. */
const password = z.string().max(1_000, { error: 'is longer than 1000 characters' });

const grant = z
  .strictObject({
    namespace: z.string().describe('A namespace, or * for all of them and for what belongs to none.'),
    role: z.enum(ROLES),
    own_only: z.boolean().default(false).describe('Only for jobs whose user_id is theirs.'),
  })
  .meta({ id: 'GrantBody' });
const grants = z.array(grant).max(200, { error: 'has more than 200 entries' });

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
    display_name: stored(200).optional(),
    password: password.optional().describe('Left out: they use keys that others make for them.'),
    grants: grants.optional(),
  }),
} satisfies Shape;

export const USER_CHANGE = {
  schema: z.strictObject({ display_name: stored(200).optional(), disabled: z.boolean().optional() }),
} satisfies Shape;

export const GRANTS_BODY = { schema: z.strictObject({ grants }) } satisfies Shape;

export const PASSWORD_BODY = {
  schema: z.strictObject({
    password,
    current_password: password.optional().describe('Needed to change your own.'),
  }),
} satisfies Shape;

export const SIGN_IN_BODY = {
  schema: z.strictObject({ name: named(200), password }),
} satisfies Shape;

const keyFields = z.strictObject({
  name: named(200).describe('What it is for, so that people know it again.'),
  namespace: z.string().describe('Where it may work; * for everywhere its owner may.').default('default'),
  role: z.enum(ROLES),
  own_only: z.boolean().default(false).describe('Only for jobs of its owner.'),
  scopes: z
    .array(z.enum(ACTION_NAMES as [Action, ...Action[]]))
    .min(1, { error: 'is empty: such a key could do nothing' })
    .max(ACTION_NAMES.length)
    .nullish()
    .describe('Only these permissions of the role; left out: all of them.'),
  expires_at: z.union([z.string(), z.number()]).nullish().describe('Left out: it does not expire.'),
  user_id: z
    .uuid({ error: 'must be the id of a user' })
    .nullish()
    .describe('Whose key it is; left out: yours.'),
});

export const KEY_BODY = { schema: keyFields } satisfies Shape;

export function toKeyInput(read: z.output<typeof keyFields>) {
  const { expires_at: expiresAt } = read;
  return {
    name: read.name,
    grant: toGrant(read),
    scopes: read.scopes ?? undefined,
    expiresAtMs: expiresAt == null ? undefined : parseInstant(expiresAt, { field: 'expires_at' }),
    ownerId: read.user_id ?? undefined,
  };
}

const { limit } = paging;

/** Lists in the order of names. */
export const BY_NAME_QUERY = {
  schema: z.strictObject({ after: text.optional().describe('Continue after this name.'), limit }),
} satisfies Shape;

export const KEYS_QUERY = {
  schema: z.strictObject({
    after: z
      .uuid({ error: 'must be the id of a key' })
      .optional()
      .describe('Continue after this key; they come newest first.'),
    limit,
  }),
} satisfies Shape;

export const SESSIONS_QUERY = {
  schema: z.strictObject({
    user_id: z.uuid({ error: 'must be the id of a user' }).optional().describe('Left out: your own.'),
  }),
} satisfies Shape;

const auditFields = z.strictObject({
  namespace: text.optional(),
  actor: text.optional().describe('The id or the name of who did it.'),
  action: text.optional().describe('What was done, such as jobs.update.'),
  subject_id: text.optional().describe('The id of what it was done to.'),
  from: text.optional().describe('From this instant on.'),
  until: text.optional().describe('Before this instant.'),
  before: z
    .string()
    .regex(/^\d{1,15}$/, { error: 'must be the audit_id of an entry' })
    .optional()
    .describe('Continue with entries older than this audit_id.'),
  limit,
});

export const AUDIT_QUERY = { schema: auditFields } satisfies Shape;

export function toAuditQuery(read: z.output<typeof auditFields>) {
  const { namespace, actor, action, subject_id: subjectId, from, until, before } = read;
  return {
    limit: read.limit,
    ...(namespace !== undefined && { namespace }),
    ...(actor !== undefined && { actor }),
    ...(action !== undefined && { action }),
    ...(subjectId !== undefined && { subjectId }),
    ...(from !== undefined && { fromMs: parseInstant(from, { field: 'from' }) }),
    ...(until !== undefined && { untilMs: parseInstant(until, { field: 'until' }) }),
    ...(before !== undefined && { beforeId: Number(before) }),
  };
}
