/**
 * Every call of the RPC interface with random messages of its type: it answers, or refuses with a reason, and nothing fails
 * on our side. A failure prints its seed: SEED=123 repeats it.
 */
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { rpc } from '@carillon/contract';
import { Code, ConnectError } from '@connectrpc/connect';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { collect, RpcFixture } from '../../packages/server/src/gateway/rpc/rpc.fixture.ts';
import { SEED } from './fuzz.ts';

const CALLS_PER_METHOD = process.env.CARILLON_TEST_LONG === 'true' ? 1_000 : 60;

let gateway: RpcFixture;
/** Ids of a job, a run, a user and a key that are there, unless a call removed them. */
const known: string[] = [];
beforeAll(async () => {
  gateway = await RpcFixture.start();
  const { jobId } = await gateway.jobs().submitJob({ codeLocation: 'report', schedule: { interval: '1m' } });
  known.push(jobId, (await gateway.jobs().runJobNow({ jobId })).runId);
  const { userId } = await gateway.operations.createUser({ name: 'ada' });
  const grant = { namespace: 'default', role: 'viewer', ownOnly: false } as const;
  const { key } = await gateway.operations.createKey({ name: 'a key', grants: [grant] });
  known.push(userId, key.keyId);
});
afterAll(() => gateway.stop());

const NUMBERS = [0, -0, 1, -1, 0.5, 1e308, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, -1e-9];
const EVERYWHERE = [0, 1, -1, 200, 201, 2 ** 31 - 1, -(2 ** 31)];
const SECONDS = [0n, -1n, 1_900_000_000n, 253_402_300_800n, 2n ** 62n, -(2n ** 62n)];
const TEXTS = [
  ...[
    'a',
    '\u0000',
    '🙂',
    ' ',
    'x'.repeat(300),
    '../..',
    'http://x',
    'https://',
    '-1',
    '__proto__',
    '+9',
    '0-0-0',
  ],
  ...[
    'CRON',
    'cron',
    'high',
    'SCHEDULED',
    'Europe/Paris',
    '* * * * *',
    '0 0 30 2 *',
    '1h',
    'P1D',
    'daily',
    'run',
  ],
  ...['viewer', 'admin', 'default', '*', 'jobs.read', 'correct horse battery', 'pause', 'cancel', 'worker-1'],
  ...[
    'schedule.time_zone',
    'labels',
    'none',
    '2030-01-01T00:00:00.000Z_00000000-0000-7000-8000-000000000000',
  ],
];

/** Values that a field can be sent with, of its type and yet often without meaning. */
function anyValue(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const text = fc.oneof(
    fc.constantFrom(...TEXTS),
    fc.string(),
    fc.nat({ max: 3 }).map((i) => known[i] ?? ''),
  );
  const scalar = (typeName: string) => {
    if (/string/.test(typeName)) return text;
    if (/bool/.test(typeName)) return fc.boolean();
    return /double|float/.test(typeName) ? fc.constantFrom(...NUMBERS) : fc.constantFrom(...EVERYWHERE);
  };
  const NAMES: Record<number, string> = { 1: 'double', 2: 'float', 8: 'bool', 9: 'string' };
  switch (field.fieldKind) {
    case 'message':
      return anyMessage(field.message, depth + 1);
    case 'list':
      return field.listKind === 'message'
        ? fc.array(anyMessage(field.message, depth + 1), { maxLength: 3 })
        : fc.array(text, { maxLength: 3 });
    case 'map':
      return fc.dictionary(
        text,
        field.mapKind === 'scalar' ? scalar(NAMES[field.scalar] ?? 'int32') : fc.constant({}),
        { maxKeys: 3 },
      );
    case 'scalar':
      return scalar(NAMES[field.scalar] ?? 'int32');
    default:
      return fc.constant(undefined);
  }
}

function anyMessage(message: DescMessage, depth = 0): fc.Arbitrary<object> {
  if (message.typeName === 'google.protobuf.Timestamp') {
    return fc.record({ seconds: fc.constantFrom(...SECONDS), nanos: fc.constantFrom(0, 999_999_999, -1) });
  }
  if (message.typeName === 'google.protobuf.Struct') {
    return fc.dictionary(fc.constantFrom(...TEXTS), fc.oneof(fc.jsonValue(), fc.constantFrom(...NUMBERS)), {
      maxKeys: 3,
    }) as fc.Arbitrary<object>;
  }
  const fields = message.fields.filter(({ oneof }) => oneof === undefined);
  const plain = fc.record(
    Object.fromEntries(fields.map((field) => [field.localName, anyValue(field, depth)])),
    { requiredKeys: [] },
  );
  const [choice] = message.oneofs.filter(({ fields: of }) => of.length > 1);
  if (choice === undefined) return plain;
  const cases = choice.fields.map((field) =>
    anyValue(field, depth).map((value) => ({ [choice.localName]: { case: field.localName, value } })),
  );
  return fc.tuple(plain, fc.oneof(...cases)).map(([rest, chosen]) => ({ ...rest, ...chosen }));
}

const CALLS = [rpc.JobService, rpc.AccountService, rpc.AuditService].flatMap((service) =>
  service.methods
    .filter(({ localName }) => localName !== 'watchEvents')
    .map((method) => ({ service, method, name: method.name })),
);

test.each(CALLS)(
  `whatever $name is asked, it answers or refuses with a reason (SEED=${SEED})`,
  async ({ service, method }) => {
    const client = gateway.client(service) as unknown as Record<string, (request: object) => unknown>;
    await fc.assert(
      fc.asyncProperty(anyMessage(method.input), async (request) => {
        try {
          const answer = client[method.localName]!(request);
          if (method.methodKind === 'unary') await answer;
          else await collect(answer as AsyncIterable<unknown>);
        } catch (error) {
          const { code, rawMessage } = ConnectError.from(error);
          expect([Code[code], rawMessage]).not.toContain('Internal');
          expect([Code[code], rawMessage]).not.toContain('Unknown');
          expect(ConnectError.from(error).findDetails(rpc.ErrorDetailSchema)).toHaveLength(1);
        }
      }),
      { seed: SEED, numRuns: CALLS_PER_METHOD },
    );
    expect(gateway.errors).toEqual([]);
  },
);
