/** Messages and the bodies and views of REST: requests are read as bodies, and views are answered as messages. */
import { type DescField, type DescMessage, fromJson, type MessageShape, toJson } from '@bufbuild/protobuf';
import { type JsonValue, Refusal, refuseValue } from '@carillon/domain';
import { isBody } from '../rest/shape.ts';
import { ScheduleSchema } from './generated/carillon.ts';

export type Fields = Record<string, unknown>;

/** A message in the words of a REST body: only what is set, under the names of the proto file. */
export function fieldsOf<Schema extends DescMessage>(schema: Schema, message: MessageShape<Schema>): Fields {
  try {
    const json: JsonValue = toJson(schema, message, { useProtoFieldName: true }) as JsonValue;
    return isBody(json) ? { ...json } : {};
  } catch (error) {
    // Some messages can be sent that have no meaning: an infinite number in a payload, an instant beyond the year 9999.
    const field = schema.fields.find((one) => !isWritable(one, message))?.name ?? '';
    const reason = (error as Error).message;
    throw new Refusal('field_invalid', `${field} cannot be read: ${reason}.`, { field, cause: error });
  }
}

function isWritable({ fieldKind, message: schema, localName }: DescField, message: object): boolean {
  const value = (message as Record<string, unknown>)[localName];
  if (fieldKind !== 'message' || value === undefined) return true;
  try {
    // A Struct is kept as the plain object that it stands for, which can always be read and not always be written.
    if (schema.typeName === 'google.protobuf.Struct') return !hasEndlessNumber(value);
    toJson(schema, value as MessageShape<DescMessage>);
    return true;
  } catch {
    return false;
  }
}

function hasEndlessNumber(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasEndlessNumber);
}

const TEXT_LENGTH_MAX = 200;

/** Refuses what no PostgreSQL text can hold, U+0000 and half a surrogate pair: nothing that is looked for can contain them. */
export function storable(given: string, field: string): string {
  if (given.length <= TEXT_LENGTH_MAX && given.isWellFormed() && !given.includes('\u0000')) return given;
  const message = `${field} is longer than ${TEXT_LENGTH_MAX} characters or holds one that cannot be stored.`;
  return refuseValue(field, message);
}

/** In a message of a job, the fields of its schedule are a message of their own. */
export function jobJson({ schedule_type: type, schedule_time: time, ...fields }: Fields): Fields {
  const shown: Fields = { ...fields, type, time };
  const schedule = Object.fromEntries(ScheduleSchema.fields.map(({ name }) => [name, shown[name] ?? null]));
  return { ...fields, schedule };
}

/** Leaves out what the view has and the message has not. */
export function messageFrom<Schema extends DescMessage>(schema: Schema, view: object): MessageShape<Schema> {
  return fromJson(schema, view as JsonValue, { ignoreUnknownFields: true });
}
