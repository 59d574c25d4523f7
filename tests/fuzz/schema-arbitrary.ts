/**
 * Values from a JSON Schema: mostly such as it asks for, so that requests get past the reading, and now and then anything
 * at all. Names of fields bring words along that mean something there.
 */
import fc from 'fast-check';
import type { JsonSchema } from '../../packages/server/src/gateway/openapi/schema-components.ts';

export type Schemas = Readonly<Record<string, JsonSchema>>;

const INSTANTS = [
  '2030-01-01T12:00:00Z',
  '2030-06-01T00:00:00+02:00',
  '1999-01-01T00:00:00Z',
  '2030-02-30',
  'soon',
  '0',
];
const WORDS: Record<string, readonly unknown[]> = {
  schedule_time: [...INSTANTS, 1_900_000_000, 4e12],
  start_at: INSTANTS,
  end_at: INSTANTS,
  after: INSTANTS,
  before: INSTANTS,
  created_after: INSTANTS,
  created_before: INSTANTS,
  died_after: INSTANTS,
  expires_at: INSTANTS,
  cron_expression: [
    '* * * * *',
    '0 9 * * 1-5',
    '0 0 30 2 *',
    '*/7 * * * * *',
    '@daily',
    '0 0 L * *',
    '61 * * * *',
  ],
  interval: ['15m', '1h30m', '1mo', 'PT5M', 90, 0.5, '0s', '2w', '1e9d'],
  within: ['5m', '1d', '60', '8d', '1mo'],
  frequency: ['daily', 'hourly', 'sometimes'],
  time_zone: ['Europe/Paris', 'UTC', 'America/Lord_Howe', 'Mars/Olympus'],
  handler: ['http', 'mail', 'default', 'rm -rf'],
  namespace: ['default', 'team-a', '*', 'Nowhere', '\u0000'],
  user_id: ['me', 'u003', 'ann'],
  label: ['team:billing', 'team', ':', 'a:b:c'],
  labels: [{ team: 'billing' }, { 'a b': 'c' }],
  resources: [{ cpu: 1 }, { cpu: -1 }],
  payload: [{ url: 'http://127.0.0.1:9/x' }, { url: 'ftp://x' }, { a: [1, { b: null }] }, {}],
  role: ['viewer', 'observer', 'operator', 'editor', 'admin', 'owner'],
  password: ['correct horse battery', 'short'],
  name: ['a', 'Weekday report', 'team-a', ''],
  sort: ['created_at', '-created_at', 'name'],
  page: ['1', '2', '3', '999999'],
};

const DEEP = JSON.parse(`${'['.repeat(90)}${']'.repeat(90)}`) as unknown;

/** What breaks careless code. */
export const nasty: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[
      null,
      true,
      0,
      -1,
      1e308,
      2 ** 53,
      '',
      ' ',
      '\u0000',
      '\ud800',
      '__proto__',
      'constructor',
      'null',
      '%00',
    ],
    ...['x'.repeat(10_000), '🛎️'.repeat(50), '../../etc/passwd', "'; DROP TABLE jobs; --", '{{7*7}}', '-0'],
    ...[[], {}, [[]], DEEP, { constructor: { prototype: {} } }, JSON.parse('{"__proto__":{"admin":true}}')],
  ),
  fc.string({ maxLength: 30, unit: 'binary' }),
  fc.double(),
  fc.jsonValue({ maxDepth: 3 }),
);

export function fromSchema(schema: JsonSchema, schemas: Schemas, name = ''): fc.Arbitrary<unknown> {
  const words = WORDS[name];
  const usual = words
    ? fc.oneof(
        { weight: 3, arbitrary: fc.constantFrom(...words) },
        { weight: 1, arbitrary: shaped(schema, schemas) },
      )
    : shaped(schema, schemas);
  return fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: nasty });
}

function shaped(schema: JsonSchema, schemas: Schemas): fc.Arbitrary<unknown> {
  const { $ref, enum: choices, anyOf, const: only, type } = schema as Record<string, unknown>;
  if (typeof $ref === 'string') return fromSchema(schemas[$ref.split('/').at(-1)!] ?? {}, schemas);
  if (only !== undefined) return fc.constant(only);
  if (Array.isArray(choices)) return fc.constantFrom(...(choices as unknown[]));
  if (Array.isArray(anyOf)) {
    return fc.oneof(...anyOf.map((one) => shaped(one as JsonSchema, schemas)));
  }
  switch (Array.isArray(type) ? type[0] : type) {
    case 'string':
      return fc.string({ maxLength: 20 });
    case 'integer':
    case 'number':
      return numbers(schema);
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(fromSchema((schema.items ?? {}) as JsonSchema, schemas), { maxLength: 4 });
    case 'object':
      return objects(schema, schemas);
    case 'null':
      return fc.constant(null);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function numbers({ minimum, maximum }: JsonSchema): fc.Arbitrary<number> {
  const min = typeof minimum === 'number' && minimum > -1e9 ? minimum : -10;
  const max = typeof maximum === 'number' && maximum < 1e9 ? maximum : 100_000;
  return fc.oneof(fc.integer({ min, max }), fc.integer({ min: 1, max: 20 }));
}

function objects(schema: JsonSchema, schemas: Schemas): fc.Arbitrary<unknown> {
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  const names = Object.keys(properties);
  if (names.length === 0)
    return fc.dictionary(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }), { maxKeys: 3 });
  const required = (schema.required ?? []) as string[];
  const values = Object.fromEntries(
    names.map((name) => [name, fromSchema(properties[name]!, schemas, name)]),
  );
  // A few fields at a time: with all of them, one contradiction would hide every other.
  return fc
    .tuple(
      fc.record(values),
      fc.subarray(names, { maxLength: Math.min(5, names.length) }),
      fc.boolean(),
      fc.constantFrom('', '', '', '', 'colour', '__proto__'),
    )
    .map(([all, chosen, complete, extra]) => {
      const kept = new Set([
        ...chosen,
        ...(complete ? required : []),
        ...(names.includes('name') ? ['name'] : []),
      ]);
      const entries = Object.entries(all).filter(([name]) => kept.has(name));
      return Object.fromEntries(extra === '' ? entries : [...entries, [extra, 1]]);
    });
}
