/** Namespaces, people, keys, sessions and the audit log as answers show them. No answer holds a hash or a password. */
import {
  type Action,
  type ApiKey,
  type Caller,
  type Grant,
  type Namespace,
  ROLES,
  type Session,
  type User,
} from '@carillon/domain';
import { z } from 'zod';
import { instantText } from './instant-text.ts';

const instant = z.iso.datetime();

export const namespaceAnswer = z
  .strictObject({ name: z.string(), description: z.string(), created_at: instant })
  .meta({ id: 'Namespace' });

export function namespaceView({ name, description, createdAtMs }: Namespace) {
  return { name, description, created_at: instantText(createdAtMs) };
}

export const grantAnswer = z
  .strictObject({ namespace: z.string(), role: z.enum(ROLES), own_only: z.boolean() })
  .meta({ id: 'Grant' });

function grantView({ namespace, role, ownOnly }: Grant) {
  return { namespace, role, own_only: ownOnly };
}

export const userAnswer = z
  .strictObject({
    user_id: z.uuid(),
    name: z.string(),
    display_name: z.string(),
    disabled: z.boolean(),
    has_password: z.boolean(),
    grants: z.array(grantAnswer),
    created_at: instant,
    updated_at: instant,
  })
  .meta({ id: 'User' });

export function userView(user: User) {
  return {
    user_id: user.userId,
    name: user.name,
    display_name: user.displayName,
    disabled: user.disabled,
    has_password: user.hasPassword,
    grants: user.grants.map(grantView),
    created_at: instantText(user.createdAtMs),
    updated_at: instantText(user.updatedAtMs),
  };
}

const keyFields = {
  key_id: z.uuid(),
  name: z.string(),
  prefix: z.string(),
  user_id: z.uuid().nullable(),
  namespace: z.string(),
  role: z.enum(ROLES),
  own_only: z.boolean(),
  scopes: z.array(z.string()).nullable(),
  created_at: instant,
  expires_at: instant.nullable(),
  last_used_at: instant.nullable(),
};

export const keyAnswer = z.strictObject(keyFields).meta({ id: 'Key' });
export const createdKeyAnswer = z
  .strictObject({ ...keyFields, key: z.string().describe('The whole key. It is shown this once.') })
  .meta({ id: 'CreatedKey' });

export function keyView(key: ApiKey) {
  return {
    key_id: key.keyId,
    name: key.name,
    prefix: key.prefix,
    user_id: key.ownerId ?? null,
    ...grantView(key.grant),
    scopes: scopesView(key.scopes),
    created_at: instantText(key.createdAtMs),
    expires_at: instantText(key.expiresAtMs),
    last_used_at: instantText(key.lastUsedAtMs),
  };
}

export const signedInAnswer = z
  .strictObject({ user: userAnswer, csrf_token: z.string(), expires_at: instant })
  .meta({ id: 'SignedIn' });

/** Who asks, as they are seen here. */
export const callerAnswer = z
  .strictObject({
    kind: z.enum(['server', 'user', 'key']),
    id: z.string(),
    name: z.string(),
    user_id: z.string().nullable(),
    grants: z.array(grantAnswer),
    scopes: z.array(z.string()).nullable(),
    csrf_token: z.string().nullable().describe('Of a session: for X-CSRF-Token.'),
    expires_at: instant.nullable().describe('Of a session: when it ends at the latest.'),
  })
  .meta({ id: 'Caller' });

export function callerView(
  caller: Caller,
  session: { readonly csrfToken: string; readonly expiresAtMs: number } | undefined,
) {
  return {
    kind: caller.kind,
    id: caller.id,
    name: caller.name,
    user_id: caller.userId ?? null,
    grants: caller.grants.map(grantView),
    scopes: scopesView(caller.scopes),
    csrf_token: session?.csrfToken ?? null,
    expires_at: instantText(session?.expiresAtMs),
  };
}

export const sessionAnswer = z
  .strictObject({
    session_id: z.uuid(),
    user_id: z.uuid(),
    created_at: instant,
    last_seen_at: instant,
    expires_at: instant,
    address: z.string().nullable(),
    user_agent: z.string().nullable(),
  })
  .meta({ id: 'Session' });

export function sessionView(session: Session) {
  return {
    session_id: session.sessionId,
    user_id: session.userId,
    created_at: instantText(session.createdAtMs),
    last_seen_at: instantText(session.lastSeenAtMs),
    expires_at: instantText(session.expiresAtMs),
    address: session.address ?? null,
    user_agent: session.userAgent ?? null,
  };
}

export const auditAnswer = z
  .strictObject({
    audit_id: z.int(),
    at: instant,
    actor: z.strictObject({ kind: z.string(), id: z.string(), name: z.string() }),
    action: z.string(),
    namespace: z.string().nullable(),
    subject: z.strictObject({ kind: z.string(), id: z.string() }),
    before: z.unknown().describe('The fields that changed, as they were.'),
    after: z.unknown().describe('The fields that changed, as they are.'),
    address: z.string().nullable(),
    user_agent: z.string().nullable(),
    request_id: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' });

export interface AuditFacts {
  readonly auditId: number;
  readonly atMs: number;
  readonly actor: Pick<Caller, 'kind' | 'id' | 'name'>;
  readonly action: string;
  readonly namespace: string | undefined;
  readonly subject: { readonly kind: string; readonly id: string };
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly origin: Caller['origin'];
}

export function auditView(record: AuditFacts) {
  const { kind, id, name } = record.actor;
  return {
    audit_id: record.auditId,
    at: instantText(record.atMs),
    actor: { kind, id, name },
    action: record.action,
    namespace: record.namespace ?? null,
    subject: record.subject,
    before: record.before === undefined ? null : (JSON.parse(record.before) as unknown),
    after: record.after === undefined ? null : (JSON.parse(record.after) as unknown),
    address: record.origin.address ?? null,
    user_agent: record.origin.userAgent ?? null,
    request_id: record.origin.requestId ?? null,
  };
}

function scopesView(scopes: ReadonlySet<Action> | undefined): Action[] | null {
  return scopes === undefined ? null : [...scopes];
}
