/** How single query parameters are read. A value that could match nothing is refused: it would show the wrong list. */
import { type JobId, Refusal, type RunId } from '@carillon/domain';
import { z } from 'zod';

export const LIMIT_MAX = 200;
export const LIMIT_DEFAULT = 50;
const PAGE_MAX = 1_000_000;

/** No PostgreSQL text can hold U+0000 or half a surrogate pair, so nothing that is asked for can contain them. */
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
    .refine((given) => words.has(given), { error })
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
    .refine((given) => given.length <= 20 && given.every((word) => words.has(word)), { error })
    .transform((given) => [...new Set(given.map((word) => words.get(word)!))])
    .meta({ anyOf: undefined, type: 'array', items: { type: 'string', enum: [...words.keys()] } });
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

export function refuseValue(field: string, message: string): never {
  throw new Refusal('field_invalid', message, { field });
}
