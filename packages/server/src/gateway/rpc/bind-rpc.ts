/**
 * Binds calls of RPC to operations, generically: the fields of a message are those of the query or the body of REST under the names of
 * the proto file, so the same shapes read both, and a job means the same through either interface.
 */
import type { DescMessage, DescMethodUnary, MessageShape } from '@bufbuild/protobuf';
import { parseIdempotencyKey, readId, rpc, unwrapped } from '@carillon/contract';
import { type Caller, type JobId, Refusal, type RunId } from '@carillon/domain';
import { z } from 'zod';
import {
  type Access,
  type Call,
  isNamed,
  type Operation,
  type Reader,
  type Reply,
  readInput,
  withinBytes,
} from '../api/operation.ts';
import { type RpcMethod, unary } from './rpc-method.ts';

export interface RpcBinding {
  readonly method: DescMethodUnary;
  /** Where it differs from that of REST. */
  readonly access?: Access;
  /** rpc.Fields of the message as fields of REST, where they differ by more than their names. */
  readonly input?: (fields: rpc.Fields) => rpc.Fields;
  /** rpc.Fields of the answer that have another name in the message. */
  readonly names?: Readonly<Record<string, string>>;
}

export function bindRpc(operation: Operation): RpcMethod[] {
  return [operation.rpc ?? []]
    .flat()
    .map((binding) =>
      unary(binding.method, binding.access ?? operation.access, ({ request, caller }) =>
        answerCall({ operation, binding, request, caller }),
      ),
    );
}

interface BoundCall {
  readonly operation: Operation;
  readonly binding: RpcBinding;
  readonly request: MessageShape<DescMessage>;
  readonly caller: Caller;
}

async function answerCall({ operation, binding, request, caller }: BoundCall) {
  const { method } = binding;
  const { query, body } = operation;
  const fields = rpc.fieldsOf(method.input, request);
  const { idempotency_key: key, expected_version: version, ...others } = fields;
  const id = readSubject(operation, others);
  const given = binding.input?.(others) ?? others;
  const input = (reader: Reader | undefined, isQuery: boolean) => {
    const own = query && body ? fieldsFor(isQuery, { query, given }) : given;
    return reader && readFields(reader, own, { cursor: operation.cursor, isQuery });
  };
  const call: Call = {
    caller,
    id,
    query: input(query, true) ?? (body ? undefined : {}),
    body: input(body, false),
    idempotencyKey: key === undefined ? undefined : parseIdempotencyKey(key as string),
    ifVersion: version === undefined ? undefined : [version as number],
    prefersMinimal: false,
    session: () => undefined,
  };
  // What needs a request of HTTP is not bound.
  const reply = await operation.handle(call as Parameters<typeof operation.handle>[0]);
  return messageOf(method.output, reply, binding.names);
}

/** Of an operation that has both: what the query does not name belongs to the body. */
function fieldsFor(isQuery: boolean, { query, given }: { query: Reader; given: rpc.Fields }): rpc.Fields {
  return Object.fromEntries(Object.entries(given).filter(([name]) => name in query.schema.shape === isQuery));
}

const SUBJECT_FIELDS = {
  job: 'job_id',
  run: 'run_id',
  'dead letter': 'run_id',
  user: 'user_id',
  key: 'key_id',
  'signing key': 'signing_key_id',
  session: 'session_id',
  view: 'view_id',
  worker: 'worker_id',
  namespace: 'name',
  'job key': 'key',
  secret: 'name',
  handler: 'name',
} as const;

/** Takes the id of the subject out of the fields. */
function readSubject({ subject }: Operation, fields: rpc.Fields): JobId & RunId {
  if (subject === undefined) return '' as JobId & RunId;
  const field = SUBJECT_FIELDS[subject];
  const given = requireField(fields[field] as string | undefined, field);
  delete fields[field];
  return (isNamed(subject) ? rpc.storable(given, field) : readId(given, subject)) as JobId & RunId;
}

export function requireField(given: string | undefined, field: string): string {
  if (given !== undefined && given !== '') return given;
  throw new Refusal('field_missing', `${field} is missing.`, { field });
}

/** rpc.Fields that REST calls otherwise, where its shape has none of the same name. */
export const OTHER_NAMES: Readonly<Record<string, string>> = {
  statuses: 'status',
  types: 'type',
  labels: 'label',
  streams: 'stream',
  after_id: 'last_event_id',
  page_size: 'limit',
  job_ids: 'ids',
  // A field called "from" cannot be written in Python.
  since: 'from',
  until: 'to',
};

/** Reads the fields of a message with a shape of REST. Refusals name the fields as the message does. */
export function readFields(
  reader: Reader,
  fields: rpc.Fields,
  { cursor, isQuery }: { cursor?: string | undefined; isQuery: boolean },
): unknown {
  const { page_token: token, ...others } = fields;
  const renamed = new Map<string, string>();
  const spelled = spell(reader.schema, others, { isQuery, renamed, within: '' });
  const read = (given: rpc.Fields) => {
    try {
      return readInput(reader, given);
    } catch (error) {
      throw error instanceof Refusal ? withFieldOfMessage(error, renamed) : error;
    }
  };
  const first = read(spelled);
  if (token === undefined || cursor === undefined) return first;
  try {
    return readInput(reader, { ...spelled, [cursor]: token });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const message = 'page_token must be the next_page_token of a page of the same list.';
    throw new Refusal('field_invalid', message, { field: 'page_token', cause: error });
  }
}

function spell(
  { shape }: z.ZodObject,
  fields: rpc.Fields,
  { isQuery, renamed, within }: { isQuery: boolean; renamed: Map<string, string>; within: string },
): rpc.Fields {
  const entries = Object.entries(fields).map(([name, value]) => {
    const other = OTHER_NAMES[name];
    const target = name in shape || other === undefined ? name : other;
    if (target !== name) renamed.set(`${within}${target}`, `${within}${name}`);
    const inner = shape[target] && unwrapped(shape[target]);
    if (inner instanceof z.ZodObject) {
      const options = { isQuery, renamed, within: `${within}${target}.` };
      return [target, spell(inner, value as rpc.Fields, options)];
    }
    // The parameters of a query are texts.
    const isText = !isQuery || typeof value === 'object';
    return [target, isText ? value : String(value)];
  });
  return Object.fromEntries(entries);
}

/** Sentences begin with the field that they are about. */
function withFieldOfMessage(refusal: Refusal, renamed: ReadonlyMap<string, string>): Refusal {
  const { code, message, field = '' } = refusal;
  const name = renamed.get(field);
  if (name === undefined) return refusal;
  const said = message.startsWith(`${field} `) ? `${name}${message.slice(field.length)}` : message;
  return new Refusal(code, said, { field: name, cause: refusal });
}

/** A list fills the repeated field of the message, a resource the field of its type; what the message lacks is left out. */
export function messageOf<Output extends DescMessage>(
  output: Output,
  reply: Reply,
  names: Readonly<Record<string, string>> = {},
): MessageShape<Output> {
  const { body, list, also } = withinBytes(reply);
  const json: rpc.Fields = {};
  if (Array.isArray(body)) {
    const field = output.fields.find(({ fieldKind }) => fieldKind === 'list')!;
    json[field.name] = body.map((view) => resourceJson(field.message, view));
    json.next_page_token = list?.hasMore ? (list.next ?? '') : '';
  } else {
    const field = output.fields.find(
      ({ fieldKind, message }) => fieldKind === 'message' && isResource(message!),
    );
    for (const [name, value] of Object.entries((body ?? {}) as rpc.Fields)) json[names[name] ?? name] = value;
    // A resource that has a name of its own in the answer is there already, or is not shown.
    const isThere = field !== undefined && typeof json[field.name] === 'object';
    if (field && !isThere) json[field.name] = resourceJson(field.message, body);
  }
  return rpc.messageFrom(output, { ...json, ...also });
}

/** Not an instant, or a value of any kind. */
function isResource({ typeName }: DescMessage): boolean {
  return typeName.startsWith(`${rpc.JobSchema.file.proto.package}.`);
}

function resourceJson(message: DescMessage | undefined, view: unknown): unknown {
  return message?.typeName === rpc.JobSchema.typeName ? rpc.jobJson(view as rpc.Fields) : view;
}
