import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { CLIENT_TYPES, renderClientTypes } from '../../scripts/generate-client-types.ts';
import { renderTypes } from '../../scripts/render-types.ts';

test('the types of the client are what the schemas of the contract say: otherwise run `npm run generate`', async () => {
  expect(await readFile(CLIENT_TYPES, 'utf8')).toBe(renderClientTypes());
});

test('a schema becomes a declaration: named where it has a name, optional where it may be left out', () => {
  const kind = z.enum(['a', 'b']);
  const part = z.strictObject({ kind, size: z.int().nullable() }).meta({ id: 'PartAnswer' });
  const growing = z.enum(['x', 'y']);
  const upper = z.preprocess((given) => given, z.enum(['UP', 'DOWN']));
  const listed = z
    .union([z.string(), z.array(z.string())])
    .transform((given) => [given].flat())
    .meta({ anyOf: undefined, type: 'array', items: { type: 'string' } });
  const rendered = renderTypes(
    {
      Kind: { schema: kind, io: 'output' },
      Part: { schema: part, io: 'output', comment: 'One of many.' },
      Whole: {
        schema: part.extend({
          parts: z.array(part).describe('All */ of them.'),
          labels: z.record(z.string(), z.string()).optional(),
          mixed: z.array(z.union([z.string(), z.number()])),
          growing,
          rest: z.unknown(),
        }),
        io: 'output',
        extends: 'Part',
      },
      Query: { schema: z.strictObject({ listed: listed.optional(), upper: upper.nullish() }), io: 'input' },
    },
    new Set([growing]),
  );
  expect(rendered).toBe(`export type Kind = 'a' | 'b';

/** One of many. */
export interface Part {
  readonly kind: Kind;
  readonly size: number | null;
}

export interface Whole extends Part {
  /** All *\\/ of them. */
  readonly parts: readonly Part[];
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly mixed: readonly (string | number)[];
  readonly growing: string;
  readonly rest: unknown;
}

export interface Query {
  readonly listed?: string | readonly string[] | undefined;
  readonly upper?: 'UP' | 'DOWN' | null | undefined;
}
`);
});
