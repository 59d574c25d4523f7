/** How answers are declared and what their values look like: ISO 8601 in UTC for instants, null where there is nothing. */
import { z } from 'zod';

export const instant = z.iso.datetime();

export function instantText(ms: number): string;
export function instantText(ms: number | undefined): string | null;
export function instantText(ms: number | undefined): string | null {
  if (ms === undefined) return null;
  // Of a job, two are often the same; and jobs that arrive together were created within a millisecond.
  if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() };
  return last.text;
}

let last = { ms: 0, text: new Date(0).toISOString() };

export function secondsOf(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1_000;
}

/** A field under the name that it had before. */
export function deprecated<Schema extends z.ZodType>(schema: Schema, name: string): Schema {
  return schema.meta({ deprecated: true, description: `The older name of ${name}.` });
}

/** The value of a column that holds JSON text. */
export function jsonValue(text: string | undefined): unknown {
  return text === undefined ? null : (JSON.parse(text) as unknown);
}

type Fields<Source, Shape> = {
  readonly [Name in keyof Shape]: readonly [
    schema: Shape[Name],
    read: (source: Source) => z.output<Shape[Name]>,
  ];
};

/**
 * Declares each field of an answer once, with its schema and how it is read from the source. From that follow the schema that
 * documents the answer and the view that makes it: `answerOf<User>('User')({ user_id: [z.uuid(), (user) => user.userId] })`.
 * The documentation lists an answer with an id under that name.
 */
export function answerOf<Source>(id?: string) {
  return <Shape extends Record<string, z.ZodType>>(fields: Fields<Source, Shape>) => {
    const declared = Object.entries<Fields<Source, Record<string, z.ZodType>>[string]>(fields);
    const shape = Object.fromEntries(declared.map(([name, [schema]]) => [name, schema])) as Shape;
    const answer = z.strictObject(shape);
    const view = (source: Source) =>
      Object.fromEntries(declared.map(([name, [, read]]) => [name, read(source)])) as z.output<typeof answer>;
    return { answer: id === undefined ? answer : answer.meta({ id }), view };
  };
}
