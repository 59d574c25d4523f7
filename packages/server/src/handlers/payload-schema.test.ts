import { HTTP_PARAMETERS, type JsonObject, Refusal } from '@carillon/domain';
import { describe, expect, test } from 'vitest';
import { checkHttpPayload } from '../../../domain/src/job/check-http-payload.ts';
import { compileSchema, SchemaUnusable, withinTime } from './payload-schema.ts';

function refusal(schema: object, payload: JsonObject, trusted = true): unknown {
  try {
    compileSchema(JSON.stringify(schema), { trusted }).check(payload);
    return undefined;
  } catch (error) {
    return error;
  }
}

describe.each([true, false])('a payload is judged by the schema of its handler (trusted: %s)', (trusted) => {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: {
      urls: { type: 'array', items: { type: 'string', minLength: 3 }, uniqueItems: true },
      format: { enum: ['png', 'webp', 3] },
      kind: { const: 'image' },
      size: { type: ['integer', 'null'], minimum: 1 },
      'a/b~c': { type: 'object', properties: { d: { type: 'boolean' } } },
    },
    required: ['urls'],
    additionalProperties: false,
  };

  test('one that fits is accepted', () => {
    expect(refusal(schema, { urls: ['abc'], size: null }, trusted)).toBeUndefined();
  });

  test.each<[JsonObject, string, string, string]>([
    [{}, 'field_missing', 'payload.urls', 'payload.urls is missing.'],
    [{ urls: [], colour: 1 }, 'field_unknown', 'payload.colour', 'The handler knows no payload.colour.'],
    [{ urls: 'x' }, 'field_invalid', 'payload.urls', 'payload.urls must be of type array.'],
    [{ urls: ['abc', 7] }, 'field_invalid', 'payload.urls[1]', 'payload.urls[1] must be of type string.'],
    [
      { urls: ['a'] },
      'field_invalid',
      'payload.urls[0]',
      'payload.urls[0] must NOT have fewer than 3 characters.',
    ],
    [
      { urls: [], format: 'gif' },
      'field_invalid',
      'payload.format',
      'payload.format must be one of "png", "webp", 3.',
    ],
    [{ urls: [], kind: 1 }, 'field_invalid', 'payload.kind', 'payload.kind must be "image".'],
    [
      { urls: [], size: 'big' },
      'field_invalid',
      'payload.size',
      'payload.size must be of type integer or null.',
    ],
    [
      { urls: [], 'a/b~c': { d: 1 } },
      'field_invalid',
      'payload.a/b~c.d',
      'payload.a/b~c.d must be of type boolean.',
    ],
  ])('%j is refused with the member and what it must be', (payload, code, field, message) => {
    const error = refusal(schema, payload, trusted);
    expect(error).toBeInstanceOf(Refusal);
    expect(error).toMatchObject({ code, field, message });
  });

  test('references within the schema are followed, also round', () => {
    const tree = { type: 'object', properties: { child: { $ref: '#' }, n: { type: 'number' } } };
    expect(refusal(tree, { child: { child: { n: 1 } } }, trusted)).toBeUndefined();
    expect(refusal(tree, { child: { child: { n: 'x' } } }, trusted)).toMatchObject({
      field: 'payload.child.child.n',
    });
  });

  test('two schemas with one $id are two schemas', () => {
    const named = (type: string) => ({ $id: 'https://example.org/same', properties: { a: { type } } });
    expect(refusal(named('string'), { a: 'x' }, trusted)).toBeUndefined();
    expect(refusal(named('number'), { a: 'x' }, trusted)).toMatchObject({ field: 'payload.a' });
  });
});

describe('a schema that means harm', () => {
  /** Each level doubles the work of the one below. */
  const doubling = {
    $ref: '#/$defs/d0',
    $defs: Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => {
        const next = { $ref: `#/$defs/d${i + 1}` };
        return [`d${i}`, i === 59 ? {} : { allOf: [next, next] }];
      }),
    ),
  };

  test.each<[string, object, JsonObject]>([
    ['refers to another place', { $ref: 'https://example.org/schema' }, {}],
    ['refers to a file', { $ref: 'file:///etc/passwd' }, {}],
    ['is no schema', { type: 'strin' }, {}],
    ['refers to itself without end', { $ref: '#' }, {}],
    ['takes the name of the schema of schemas', { $id: 'https://json-schema.org/draft/2020-12/schema' }, {}],
    [
      'has a pattern that takes years',
      { properties: { a: { pattern: '^(a+)+$' } } },
      { a: `${'a'.repeat(60)}!` },
    ],
    ['doubles the work sixty times', doubling, {}],
    ['answers later', { $async: true, required: ['x'] }, {}],
    ['answers later where it is referred to', { $ref: '#/$defs/a', $defs: { a: { $async: true } } }, {}],
  ])('that %s is not used', (_, schema, payload) => {
    expect(refusal(schema, payload, false)).toBeInstanceOf(SchemaUnusable);
    // And harms none after it.
    expect(refusal({ properties: { a: { type: 'string' } } }, { a: 1 }, false)).toMatchObject({
      code: 'field_invalid',
      field: 'payload.a',
    });
  });
});

describe('the time of a schema', () => {
  const spin = () => {
    for (;;);
  };
  /** The first `slow` tries never end; each reading of the processor's time is `stepMs` after the one before. */
  const tryWith = (slow: number, stepMs: number) => {
    const seen = { tries: 0, cpuMs: 0 };
    const prepare = () => {
      seen.tries += 1;
      return seen.tries <= slow ? spin : () => 'done';
    };
    const cpuMs = () => {
      seen.cpuMs += stepMs;
      return seen.cpuMs;
    };
    return { seen, run: () => withinTime<unknown>(prepare, cpuMs) };
  };

  test('that the machine gave to others is not held against it', () => {
    const { seen, run } = tryWith(1, 0);
    expect(run()).toBe('done');
    expect(seen.tries).toBe(2);
  });

  test('is bounded also when it never gets a processor', () => {
    const { seen, run } = tryWith(100, 0);
    expect(run).toThrow(/timed out/);
    expect(seen.tries).toBe(4);
  });

  test('that it used itself ends it at the first try', () => {
    const { seen, run } = tryWith(100, 1_000);
    expect(run).toThrow(/timed out/);
    expect(seen.tries).toBe(1);
  });
});

describe('the schema of http says what its checks say', () => {
  const url = 'https://example.org/x';
  test.each<[JsonObject]>([
    [{ url }],
    [{ url, method: 'PUT', headers: { 'x-one': 'a', 'x-two': 2 }, body: { a: [1] } }],
    [{ url, method: null, headers: null, expect_status: [200, '3xx'] }],
    [{ url, expect_status: '404' }],
  ])('%j is accepted by both', (payload) => {
    expect(() => checkHttpPayload(payload)).not.toThrow();
    expect(refusal(HTTP_PARAMETERS, payload)).toBeUndefined();
  });

  test.each<[JsonObject]>([
    [{}],
    [{ url: 'ftp://example.org' }],
    [{ url: 7 }],
    [{ url, colour: 'red' }],
    [{ url, method: 'BREW' }],
    [{ url, headers: [] }],
    [{ url, headers: { 'x-one': {} } }],
    [{ url, expect_status: 99 }],
    [{ url, expect_status: [] }],
    [{ url, expect_status: 'fine' }],
  ])('%j is refused by both, for the same member', (payload) => {
    const found = refusal(HTTP_PARAMETERS, payload) as Refusal;
    expect(found).toBeInstanceOf(Refusal);
    try {
      checkHttpPayload(payload);
      expect.unreachable();
    } catch (error) {
      expect(found.field?.split('[')[0]).toBe((error as Refusal).field);
    }
  });
});
