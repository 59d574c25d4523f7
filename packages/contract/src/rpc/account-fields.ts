/** What calls say about namespaces, users, keys and the audit log, read by the same shapes as the bodies and queries of REST. */
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import type { z } from 'zod';
import {
  AUDIT_QUERY,
  BY_NAME_QUERY,
  GRANTS_BODY,
  KEYS_QUERY,
  toAuditQuery,
  toGrant,
} from '../rest/account-bodies.ts';
import { readShape, type Shape } from '../rest/shape.ts';
import { fieldsOf } from './fields-of.ts';
import {
  type SetUserGrantsRequest,
  SetUserGrantsRequestSchema,
} from './generated/carillon/v1/accounts_pb.js';
import {
  type ListAuditEntriesRequest,
  ListAuditEntriesRequestSchema,
} from './generated/carillon/v1/audit_pb.js';
import { pageSizeAsked, pageTokenAsked } from './list-fields.ts';

/** Fields of a message that are no part of its body: what it is about, and under which key. */
const ABOUT = ['idempotency_key'];

/** about: more fields that are no part of the body, such as the id of what is changed. */
export function bodyAsked<Body extends z.ZodObject, Schema extends DescMessage>(
  shape: Shape<Body>,
  schema: Schema,
  message: MessageShape<Schema>,
  about: readonly string[] = [],
): z.output<Body> {
  const fields = Object.entries(fieldsOf(schema, message));
  return readShape(
    shape,
    Object.fromEntries(fields.filter(([name]) => ![...ABOUT, ...about].includes(name))),
  );
}

/** No grants at all is an answer too, which a message can only give by leaving them out. */
export function grantsAsked(request: SetUserGrantsRequest) {
  const { grants = [] } = fieldsOf(SetUserGrantsRequestSchema, request);
  return readShape(GRANTS_BODY, { grants }).grants.map(toGrant);
}

interface Paged {
  readonly pageSize: number;
  readonly pageToken: string;
}

/** A page of a list in the order of names. */
export function namesAsked({ pageSize, pageToken }: Paged): { after: string | undefined; limit: number } {
  const after = pageTokenAsked(pageToken, (token) => readShape(BY_NAME_QUERY, { after: token }).after);
  return { after, limit: pageSizeAsked(pageSize) };
}

export function keysAsked({ pageSize, pageToken }: Paged): { afterKeyId: string | undefined; limit: number } {
  const afterKeyId = pageTokenAsked(pageToken, (token) => readShape(KEYS_QUERY, { after: token }).after);
  return { afterKeyId, limit: pageSizeAsked(pageSize) };
}

export function auditAsked(request: ListAuditEntriesRequest) {
  const { page_size: _, page_token: __, ...filters } = fieldsOf(ListAuditEntriesRequestSchema, request);
  const beforeId = pageTokenAsked(
    request.pageToken,
    (token) => toAuditQuery(readShape(AUDIT_QUERY, { before: token })).beforeId,
  );
  return {
    ...toAuditQuery(readShape(AUDIT_QUERY, filters)),
    ...(beforeId !== undefined && { beforeId }),
    limit: pageSizeAsked(request.pageSize),
  };
}
