/** How query parameters, ids and headers are read. A value that could match nothing is refused: it would show the wrong list. */
import { type ErrorCode, type JobId, Refusal, type RunId, refuseValue } from '@carillon/domain';
import { z } from 'zod';
import { nearestWord } from '../nearest-word.ts';

export const LIMIT_MAX = 200;
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

/** One of the words, in any case. */
export function oneOf<Value>(words: ReadonlyMap<string, Value>) {
  const error = `must be one of ${[...words.keys()].join(', ')}`;
  return z
    .string({ error })
    .transform((given) => given.toLowerCase().replaceAll('_', '-'))
    .refine((given) => words.has(given), { error: (issue) => `${error}${hintFor([issue.input], words)}` })
    .transform((given) => words.get(given)!)
    .meta({ enum: [...words.keys()] });
}

/** Several of the words: separated by commas, or the parameter given again. */
export function anyOf<Value>(words: ReadonlyMap<string, Value>) {
  const error = `must be one or more of ${[...words.keys()].join(', ')}`;
  return z
    .union([z.string(), z.array(z.string())], { error })
    .transform((given) =>
      [given]
        .flat()
        .flatMap((part) => part.split(',').map((word) => word.trim().toLowerCase().replaceAll('_', '-'))),
    )
    .refine((given) => given.length <= 20 && given.every((word) => words.has(word)), {
      error: (issue) => `${error}${hintFor(issue.input, words)}`,
    })
    .transform((given) => [...new Set(given.map((word) => words.get(word)!))])
    .meta({ anyOf: undefined, type: 'array', items: { type: 'string', enum: [...words.keys()] } });
}

/** The word that the first unknown one most likely meant. */
function hintFor(given: unknown, words: ReadonlyMap<string, unknown>): string {
  const unknown = (given as readonly string[]).find((word) => !words.has(word));
  const nearest = unknown === undefined ? undefined : nearestWord(unknown, words.keys());
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`;
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
  session: 'session_not_found',
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
