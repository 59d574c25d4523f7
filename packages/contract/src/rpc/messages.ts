/** Views as messages: RPC answers what REST answers, under the same names. */
import { type DescMessage, fromJson, type MessageShape } from '@bufbuild/protobuf';
import type { JsonValue } from '@carillon/domain';
import type { Fields } from './fields-of.ts';
import { ScheduleSchema } from './generated/carillon.ts';

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
