/** What we encode by hand, a real server must read back as the same values. */
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeEachPostgres } from '../../../../tests/support/postgres.ts';
import { plainArray, textArray } from './array-literal.ts';

/** Any text PostgreSQL can hold, with a liking for what array literals are made of. */
const nasty = fc.oneof(
  fc.constantFrom(
    '',
    'NULL',
    'null',
    '{}',
    '{',
    '}',
    ',',
    '"',
    '\\',
    '\\"',
    ' ',
    "'",
    '\n',
    '\t',
    '\u0001',
    '$1',
    '😀',
  ),
  fc.string({
    unit: fc.constantFrom('"', '\\', '{', '}', ',', ' ', 'N', '\r', '\n', "'", '%', ';', '-', 'é', '😀'),
  }),
  fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '')),
);

describeEachPostgres('array literals', (server) => {
  let client: pg.Client;

  beforeAll(async () => {
    client = new pg.Client({ connectionString: server.url });
    await client.connect();
  });

  afterAll(async () => {
    await client.end();
  });

  /** The elements as the server sees them, told by JSON so that no array decoder stands in between. */
  async function readBack(literal: string, type: string): Promise<unknown> {
    const { rows } = await client.query<{ read: unknown }>(`SELECT to_json($1::${type}[]) AS read`, [
      literal,
    ]);
    return rows[0]!.read;
  }

  it('of any texts come back as those texts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(nasty)), async (texts) => {
        expect(await readBack(textArray(texts), 'text')).toEqual(texts);
      }),
      { numRuns: 300 },
    );
  });

  it('of texts inside texts come back too: settlements travel as arrays of array literals', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(nasty), { minLength: 1 }), async (groups) => {
        const { rows } = await client.query<{ read: unknown }>(
          'SELECT json_agg(to_json(inner_text::text[]) ORDER BY ord) AS read FROM unnest($1::text[]) WITH ORDINALITY AS o(inner_text, ord)',
          [textArray(groups.map(textArray))],
        );
        expect(rows[0]!.read).toEqual(groups);
      }),
      { numRuns: 200 },
    );
  });

  it('of integers, booleans and ids come back as they were', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.option(fc.maxSafeInteger())),
        fc.array(fc.option(fc.boolean())),
        fc.array(fc.uuid()),
        async (integers, booleans, ids) => {
          expect(await readBack(plainArray(integers), 'bigint')).toEqual(integers);
          expect(await readBack(plainArray(booleans), 'boolean')).toEqual(booleans);
          expect(await readBack(plainArray(ids), 'uuid')).toEqual(ids);
        },
      ),
      { numRuns: 50 },
    );
  });
});
