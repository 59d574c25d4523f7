/** How query parameters, ids and headers are read. A value that could match nothing is refused: it would show the wrong list. */
import {
  type ErrorCode,
  type Interval,
  type JobId,
  Refusal,
  type RunId,
  refuseValue,
} from '@carillon/domain';
import { z } from 'zod';
import { nearestWord } from '../nearest-word.ts';

export const LIMIT_MAX = 1_000;
export const LIMIT_DEFAULT = 50;
const PAGE_MAX = 1_000_000;

/** No PostgreSQL text can hold U+0000 or half a surrogate pair, so no stored text contains them. */
export function textUpTo(max: number) {
  return z
    .string({ error: 'must be given once' })
    .min(1, { error: 'is empty' })
    .max(max, { error: `is longer than ${max} characters` })
    .refine((value) => value.isWellFormed() && !value.includes('\u0000'), {
      error: 'holds a character that cannot be stored',
    });
}

export const text = textUpTo(200);

export function count(max: number) {
  const error = `must be a whole number from 1 to ${max}`;
  return z
    .string({ error })
    .regex(/^\d{1,9}$/, { error })
    .transform(Number)
    .refine((value) => value >= 1 && value <= max, { error })
    .meta({ type: 'integer', minimum: 1, maximum: max, pattern: undefined });
}

/** The same in a body. */
export function countInBody(max: number) {
  const error = `must be a whole number from 1 to ${max}`;
  return z.int({ error }).min(1, { error }).max(max, { error }).nullish();
}

export const paging = {
  page: count(PAGE_MAX).optional().describe('Counted from 1; without it, follow the Link header.'),
  limit: count(LIMIT_MAX)
    .default(LIMIT_DEFAULT)
    .describe(`Entries per answer; ${LIMIT_DEFAULT} when left out.`),
};

const CURSOR_LENGTH_MAX = 1_000;
const cursorText = textUpTo(CURSOR_LENGTH_MAX);
const WHERE = 'Where the list continues: take it from the Link header, or from "next" of the answer before.';

const OLDER = { deprecated: true, description: 'The older name of cursor.' };

export const cursor = cursorText.optional().describe(WHERE);

/** The position that a list continues from, and the name that it had before. */
export function continuing<const Older extends string>(older: Older) {
  return { cursor, [older]: cursor.meta(OLDER) } as Record<'cursor' | Older, typeof cursor>;
}

/** The same in a body. */
export function continuingBody<const Older extends string>(older: Older) {
  const inBody = cursorText.nullish().describe(WHERE);
  return { cursor: inBody, [older]: inBody.meta(OLDER) } as Record<'cursor' | Older, typeof inBody>;
}

type Continued = { readonly [Name in 'cursor' | 'after' | 'before']?: string | null | undefined };

/** The position that was given, under whichever name. What cannot be one of this list is refused. */
export function readCursor<Position>(
  { page, ...given }: Continued & { readonly page?: number | undefined },
  read: (text: string) => Position,
): Position | undefined {
  const [first, second] = (['cursor', 'after', 'before'] as const).filter((name) => given[name] != null);
  if (first === undefined) return undefined;
  if (second !== undefined || page !== undefined) {
    const other = second ?? 'page';
    refuseValue(other, `${first} and ${other} both say where the list continues; give only one of them.`);
  }
  try {
    return read(given[first]!);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const message = `${first} is no position of this list; take it as it is from the Link header, or from "next" of the answer before.`;
    throw new Refusal('field_invalid', message, { field: first, cause: error });
  }
}

/** What entries of a list carry only when it is asked for. */
export function including<const Word extends string>(words: readonly Word[], about: string) {
  return anyOf(new Map(words.map((word) => [word.replaceAll('_', '-'), word] as const)), words)
    .optional()
    .describe(about);
}

/** One of the words, in any case. documented: the words, where their spelling differs. */
export function oneOf<Value>(
  words: ReadonlyMap<string, Value>,
  documented: readonly string[] = [...words.keys()],
) {
  const error = `must be one of ${documented.join(', ')}`;
  return z
    .string({ error })
    .transform((given) => given.toLowerCase().replaceAll('_', '-'))
    .refine((given) => words.has(given), {
      error: (issue) => `${error}${hintFor([issue.input], words, documented)}`,
    })
    .transform((given) => words.get(given)!)
    .meta({ enum: [...documented] });
}

/** Several of the words: separated by commas, or the parameter given again. documented: the words, where their spelling differs. */
export function anyOf<Value>(
  words: ReadonlyMap<string, Value>,
  documented: readonly string[] = [...words.keys()],
) {
  const error = `must be one or more of ${documented.join(', ')}`;
  return z
    .union([z.string(), z.array(z.string())], { error })
    .transform((given) =>
      [given]
        .flat()
        .flatMap((part) => part.split(',').map((word) => word.trim().toLowerCase().replaceAll('_', '-'))),
    )
    .refine((given) => given.length <= 20 && given.every((word) => words.has(word)), {
      error: (issue) => `${error}${hintFor(issue.input, words, documented)}`,
    })
    .transform((given) => [...new Set(given.map((word) => words.get(word)!))])
    .meta({ anyOf: undefined, type: 'array', items: { type: 'string', enum: [...documented] } });
}

/** The word that the first unknown one most likely meant. */
function hintFor(given: unknown, words: ReadonlyMap<string, unknown>, documented: readonly string[]): string {
  const unknown = (given as readonly string[]).find((word) => !words.has(word));
  const nearest = unknown === undefined ? undefined : nearestWord(unknown, words.keys());
  if (nearest === undefined) return '';
  const spelling = documented.find((word) => word.replaceAll('_', '-') === nearest) ?? nearest;
  return ` (did you mean "${spelling}"?)`;
}

export const yesOrNo = oneOf(
  new Map([
    ['true', true],
    ['false', false],
  ]),
);

/** `team:billing`; given again, all of them must hold. Messages of RPC hold them by name. */
export const labels = z
  .union([text, z.array(text).max(32), z.record(text, text)], { error: 'must be written as name:value' })
  .transform((given, context): Record<string, string> => {
    if (typeof given === 'object' && !Array.isArray(given)) return given;
    const pairs = [given].flat().map((label) => {
      const cut = label.indexOf(':');
      return [label.slice(0, Math.max(cut, 0)), label.slice(cut + 1)] as const;
    });
    const names = new Set(pairs.map(([name]) => name));
    if (pairs.some(([name, value]) => name === '' || value === '') || names.size < pairs.length) {
      context.addIssue({ code: 'custom', message: 'must be written as name:value, each name once' });
      return z.NEVER;
    }
    return Object.fromEntries(pairs.filter(([name]) => name !== '__proto__'));
  })
  .meta({ anyOf: undefined, type: 'array', items: { type: 'string', pattern: '^[^:]+:.+$' } });

export const FIRST_ID = '00000000-0000-0000-0000-000000000000' as RunId & JobId;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const NOT_FOUND = {
  job: 'job_not_found',
  run: 'run_not_found',
  'dead letter': 'dead_letter_not_found',
  user: 'user_not_found',
  key: 'key_not_found',
  'signing key': 'signing_key_not_found',
  session: 'session_not_found',
  view: 'view_not_found',
} as const satisfies Record<string, ErrorCode>;

/** What is no UUID cannot be the id of anything, and never reaches the storage. */
export function readId(given: string, what: keyof typeof NOT_FOUND): string {
  const id = given.toLowerCase();
  if (UUID.test(id)) return id;
  throw new Refusal(
    NOT_FOUND[what],
    `The id of a ${what} is a UUID, such as 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f.`,
  );
}

/** Stored with the job, so it is bounded; visible ASCII only, so that two spellings never look alike. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,200}$/;

export function parseIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header === 'string' && IDEMPOTENCY_KEY.test(header)) return header;
  return refuseValue(
    'Idempotency-Key',
    'Idempotency-Key must be 1 to 200 visible ASCII characters, given once.',
  );
}

/** The versions that the caller accepts; undefined when any will do. */
export function parseIfMatch(header: string | undefined): number[] | undefined {
  if (header === undefined || header.trim() === '*') return undefined;
  return header.split(',').map((tag) => {
    const version = /^\s*"(\d{1,15})"\s*$/.exec(tag)?.[1];
    if (version !== undefined) return Number(version);
    return refuseValue('If-Match', 'If-Match must be the ETag of a job, such as "3", or *.');
  });
}

export function etagOf(version: number): string {
  return `"${version}"`;
}

/** What a caller may name its request: short and harmless in logs and headers. */
export function isRequestId(header: unknown): header is string {
  return typeof header === 'string' && /^[\w.:/+=-]{1,100}$/.test(header);
}

const DAY_MS = 86_400_000;

/** The length of an interval; of calendar units, the longest. */
export function lengthMs(interval: Interval): number {
  if (interval.kind === 'exact') return interval.everyMs;
  const days = { day: 1, week: 7, month: 31 }[interval.unit];
  return interval.every * days * DAY_MS;
}
