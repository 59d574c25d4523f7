/** API keys: bodies, queries and answers. Only the answers that make a secret hold it. */
import {
  ACTION_NAMES,
  type Action,
  type ApiKey,
  type Grant,
  type Interval,
  parseInstant,
  parseInterval,
  Refusal,
  ROLES,
} from '@carillon/domain';
import { z } from 'zod';
import { grantAnswer, grants, grantView, named, password, scopesView, toGrant } from './accounts.ts';
import { answerOf, instant, instantText } from './answer.ts';
import type { Shape } from './shape.ts';
import { continuing, paging, readCursor, readId, text, yesOrNo } from './values.ts';

const name = named(200).describe('What it is for, so that people know it again.');
const currentPassword = password
  .optional()
  .describe(
    'Yours, for a key that lasts longer than the session or key you came with, or than 30 days, and for every key that is not your own.',
  );
const userId = z.uuid({ error: 'must be the id of a user' });

const keyFields = z.strictObject({
  name,
  namespace: z
    .string()
    .optional()
    .describe('Where it may work; * for everywhere its owner may. Left out: default.'),
  role: z.enum(ROLES).optional().describe('What it may there. With grants, leave it out.'),
  own_only: z.boolean().optional().describe('Only for jobs of its owner.'),
  grants: grants.optional().describe('Instead of namespace, role and own_only: several grants.'),
  worker: z
    .strictObject({
      handlers: z.array(z.string()).describe('The handlers that its worker may offer.'),
      namespaces: z
        .array(z.string())
        .min(1, { error: 'is empty: such a key could do nothing' })
        .optional()
        .describe(
          'Whose jobs it may be given. Left out: those of all namespaces in which you may connect workers.',
        ),
    })
    .optional()
    .describe(
      'A worker key: connects workers and may do nothing else. Needs keys.manage and workers.connect.',
    ),
  scopes: z
    .array(z.enum(ACTION_NAMES as [Action, ...Action[]]))
    .min(1, { error: 'is empty: such a key could do nothing' })
    .max(ACTION_NAMES.length)
    .nullish()
    .describe('Only these permissions of the role; left out: all of them.'),
  expires_at: z.union([z.string(), z.number()]).nullish().describe('Left out: it does not expire.'),
  user_id: userId.nullish().describe('Whose key it is; left out: yours.'),
  current_password: currentPassword,
});

export const KEY_BODY = { schema: keyFields } satisfies Shape;

export function toKeyInput(read: z.output<typeof keyFields>) {
  const { expires_at: expiresAt } = read;
  return {
    name: read.name,
    ...(read.worker
      ? { worker: toWorker(read, read.worker) }
      : { grants: toGrants(read), scopes: read.scopes ?? undefined }),
    expiresAtMs: expiresAt == null ? undefined : parseInstant(expiresAt, { field: 'expires_at' }),
    ownerId: read.user_id ?? undefined,
    currentPassword: read.current_password,
  };
}

/** Its rights are those of worker keys: what would say otherwise is refused. */
function toWorker<Worker>(read: z.output<typeof keyFields>, worker: Worker): Worker {
  const others = { namespace: read.namespace, role: read.role, own_only: read.own_only };
  const more = { ...others, grants: read.grants, scopes: read.scopes, user_id: read.user_id };
  const [extra] = Object.entries(more).filter(([, value]) => value != null);
  if (extra === undefined) return worker;
  const message = `worker says what the key may and where; leave ${extra[0]} out.`;
  throw new Refusal('field_conflict', message, { field: extra[0] });
}

/** Several grants, or the one that the fields beside them describe. */
function toGrants(read: z.output<typeof keyFields>): Grant[] {
  const { namespace, role, own_only: ownOnly } = read;
  if (read.grants === undefined) {
    if (role === undefined) throw new Refusal('field_missing', 'role is missing.', { field: 'role' });
    return [{ namespace: namespace ?? 'default', role, ownOnly: ownOnly ?? false }];
  }
  const [extra] = Object.entries({ namespace, role, own_only: ownOnly }).filter(
    ([, value]) => value !== undefined,
  );
  if (extra === undefined) return read.grants.map(toGrant);
  const message = `grants and ${extra[0]} say the same thing twice; give only grants.`;
  throw new Refusal('field_conflict', message, { field: extra[0] });
}

export const KEY_CHANGE = { schema: z.strictObject({ name }) } satisfies Shape;

const OVERLAP_DEFAULT = '24h';
const OVERLAP_DAYS_MAX = 90;
const DAY_MS = 86_400_000;

const rotationFields = z.strictObject({
  overlap: z
    .union([z.string(), z.number()])
    .default(OVERLAP_DEFAULT)
    .describe('For so long the secret before still works, such as 24h; 0: it ends at once.'),
  expires_at: z
    .union([z.string(), z.number()])
    .nullish()
    .describe('When the key expires from now on; null: never. Left out: as before.'),
  current_password: currentPassword,
});

export const ROTATE_KEY_BODY = { schema: rotationFields } satisfies Shape;

export function toRotationInput(read: z.output<typeof rotationFields>) {
  const { overlap, expires_at: expiresAt } = read;
  return {
    overlapMs: overlapMs(overlap),
    expiresAtMs: expiresAt == null ? expiresAt : parseInstant(expiresAt, { field: 'expires_at' }),
    currentPassword: read.current_password,
  };
}

function overlapMs(overlap: string | number): number {
  if (/^0+[a-z]*$/i.test(String(overlap).trim())) return 0;
  const given = /^\d+$/.test(String(overlap)) ? Number(overlap) : overlap;
  const ms = lengthMs(parseInterval(given, { field: 'overlap' }));
  if (ms <= OVERLAP_DAYS_MAX * DAY_MS) return ms;
  throw new Refusal('field_invalid', `overlap must be at most ${OVERLAP_DAYS_MAX} days.`, {
    field: 'overlap',
  });
}

function lengthMs(interval: Interval): number {
  if (interval.kind === 'exact') return interval.everyMs;
  return interval.every * { day: 1, week: 7, month: 31 }[interval.unit] * DAY_MS;
}

const keysQuery = z.strictObject({
  user_id: userId.optional().describe('Only those of this user.'),
  namespace: text.optional().describe('Only those with a grant in this namespace.'),
  name: text.optional().describe('Only those with this name.'),
  expired: yesOrNo
    .optional()
    .describe('true: only those that have expired; false: only those that have not.'),
  unused_since: text.optional().describe('Only those that were neither made nor used since this instant.'),
  ...continuing('after'),
  limit: paging.limit,
});

export const KEYS_QUERY = { schema: keysQuery } satisfies Shape;

export function toKeysQuery(read: z.output<typeof keysQuery>) {
  const { user_id: ownerId, unused_since: unusedSince, after: _after, cursor: _cursor, ...rest } = read;
  const unusedSinceMs =
    unusedSince === undefined ? undefined : parseInstant(unusedSince, { field: 'unused_since' });
  const afterKeyId = readCursor(read, (text) => readId(text, 'key'));
  return { ...rest, ownerId, unusedSinceMs, afterKeyId };
}

const firstGrant = ({ grants: [first] }: ApiKey) => first;

export const { answer: keyAnswer, view: keyView } = answerOf<ApiKey>('Key')({
  key_id: [z.uuid(), (key) => key.keyId],
  name: [z.string(), (key) => key.name],
  prefix: [z.string(), (key) => key.prefix],
  user_id: [z.uuid().nullable(), (key) => key.ownerId ?? null],
  user_name: [z.string().nullable(), (key) => key.ownerName ?? null],
  grants: [z.array(grantAnswer), (key) => key.grants.map(grantView)],
  namespace: [z.string().describe('Of the first grant.'), (key) => firstGrant(key)?.namespace ?? ''],
  role: [z.enum(ROLES).describe('Of the first grant.'), (key) => firstGrant(key)?.role ?? 'viewer'],
  own_only: [z.boolean().describe('Of the first grant.'), (key) => firstGrant(key)?.ownOnly ?? false],
  scopes: [z.array(z.string()).nullable(), (key) => scopesView(key.scopes)],
  worker: [
    z
      .strictObject({ handlers: z.array(z.string()), namespaces: z.array(z.string()) })
      .nullable()
      .describe(
        'Of a worker key: the handlers that its worker may offer, and for the jobs of which namespaces.',
      ),
    ({ offers, grants }) =>
      offers ? { handlers: [...offers], namespaces: grants.map(({ namespace }) => namespace) } : null,
  ],
  created_at: [instant, (key) => instantText(key.createdAtMs)],
  expires_at: [instant.nullable(), (key) => instantText(key.expiresAtMs)],
  last_used_at: [instant.nullable().describe('To the minute.'), (key) => instantText(key.lastUsedAtMs)],
  last_used_address: [
    z.string().nullable().describe('The address that it was last used from.'),
    (key) => key.lastUsedAddress ?? null,
  ],
  previous_prefix: [
    z.string().nullable().describe('After a rotation: the prefix of the secret before.'),
    (key) => key.previous?.prefix ?? null,
  ],
  previous_expires_at: [
    instant.nullable().describe('When that secret ends, or ended.'),
    (key) => instantText(key.previous?.expiresAtMs),
  ],
  previous_last_used_at: [
    instant.nullable().describe('When that secret was last used, to the minute.'),
    (key) => instantText(key.previous?.lastUsedAtMs),
  ],
});

export const createdKeyAnswer = keyAnswer
  .extend({ key: z.string().describe('The whole key. It is shown this once.') })
  .meta({ id: 'CreatedKey' });
