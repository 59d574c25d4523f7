/**
 * Every text of every operation once as one that no database can hold: each part of a path, each parameter and each field. Random requests
 * meet few of these, and the storage in memory takes them all.
 */
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { rpc } from '@carillon/contract';
import { Code, ConnectError } from '@connectrpc/connect';
import { expect, test } from 'vitest';
import { GatewayFixture } from '../../packages/server/src/gateway/gateway.fixture.ts';
import type {
  OpenApiDocument,
  OperationObject,
} from '../../packages/server/src/gateway/openapi/build-openapi.ts';
import type { JsonSchema } from '../../packages/server/src/gateway/openapi/schema-components.ts';
import { collect, RpcFixture } from '../../packages/server/src/gateway/rpc/rpc.fixture.ts';
import { type Storage, TextUnstorable } from '../../packages/server/src/storage/storage.ts';
import { createTestDatabase, describeOldestPostgres } from '../support/postgres.ts';
import { openTestStorage } from '../support/test-storage.ts';

const UNSTORABLE = 'a\u0000';
const DEPTH_MAX = 3;

describeOldestPostgres('texts that cannot be stored', (server) => {
  test('are refused by every operation of REST', { timeout: 300_000 }, async () => {
    await withStorage(server.url, async (storage) => {
      class StoredGateway extends GatewayFixture {
        protected override makeStorage(): Storage {
          return storage;
        }
      }
      const gateway = new StoredGateway();
      const jobId = await gateway.createdId({ name: 'a', cron_expression: '0 9 * * *' });
      const api = (await gateway.app.inject('/api/openapi.json')).json() as OpenApiDocument;
      const failed: string[] = [];
      for (const { method, url, json } of requestsTo(api, jobId)) {
        const headers = { accept: 'application/json' };
        const payload = json === undefined ? {} : { payload: json };
        const { statusCode } = await gateway.app.inject({
          ...{ method: method.toUpperCase() as 'GET', url, ...payload },
          headers: { ...headers, authorization: 'Bearer correct-horse-battery-staple' },
        });
        if (statusCode >= 500) failed.push(`${method} ${url} ${JSON.stringify(json) ?? ''} → ${statusCode}`);
      }
      expect(failed).toEqual([]);
      expect(gateway.errors).toEqual([]);
    });
  });

  test('that reach the database are told from its own faults', async () => {
    await withStorage(server.url, async (storage) => {
      await expect(storage.accounts.existingNamespaces([UNSTORABLE])).rejects.toBeInstanceOf(TextUnstorable);
    });
  });

  test('are refused by every call of RPC', { timeout: 300_000 }, async () => {
    await withStorage(server.url, async (storage) => {
      class StoredGateway extends RpcFixture {
        protected override makeStorage(): Storage {
          return storage;
        }
      }
      const gateway = await StoredGateway.start();
      try {
        const { jobId } = await gateway.jobs().submitJob({ codeLocation: 'x', schedule: { interval: '1m' } });
        const failed: string[] = [];
        for (const service of [rpc.JobService, rpc.AccountService, rpc.AuditService]) {
          const client = gateway.client(service) as unknown as Record<string, (message: object) => unknown>;
          for (const method of service.methods) {
            if (method.localName === 'watchEvents') continue;
            for (const message of messagesOf(method.input, { jobId, runId: jobId })) {
              try {
                const answer = client[method.localName]!(message);
                if (method.methodKind === 'unary') await answer;
                else await collect(answer as AsyncIterable<unknown>);
              } catch (error) {
                const { code } = ConnectError.from(error);
                if (code === Code.Internal || code === Code.Unknown)
                  failed.push(`${method.name} ${JSON.stringify(message)}`);
              }
            }
          }
        }
        expect(failed).toEqual([]);
        expect(gateway.errors).toEqual([]);
      } finally {
        await gateway.stop();
      }
    });
  });
});

async function withStorage(url: string, work: (storage: Storage) => Promise<void>): Promise<void> {
  const database = await createTestDatabase(url);
  const storage = openTestStorage(database.url);
  try {
    await storage.housekeeping.makePartitions({ nowMs: Date.now(), aheadDays: 2 });
    await work(storage);
  } finally {
    await storage.close();
    await database.drop();
  }
}

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly json?: object;
}

function* requestsTo(api: OpenApiDocument, id: string): Generator<Asked> {
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const filled = (text: string) => path.replaceAll(/\{\w+\}/g, encodeURIComponent(text));
      const url = filled(/\{\w*name\}/.test(path) ? 'default' : id);
      const bodies = [...bodiesOf(operation, api)];
      if (path.includes('{'))
        yield { method, url: filled(UNSTORABLE), ...(bodies[0] && { json: bodies[0] }) };
      for (const { name } of operation.parameters.filter((parameter) => parameter.in === 'query'))
        yield { method, url: `${url}?${name}=${encodeURIComponent(UNSTORABLE)}` };
      for (const json of bodies.slice(1)) yield { method, url, json };
    }
  }
}

/** First one of the examples as it is. */
function* bodiesOf({ requestBody }: OperationObject, { components }: OpenApiDocument): Generator<object> {
  const content = requestBody?.content['application/json'];
  if (!content) return;
  const examples = Object.values((content.examples ?? {}) as Record<string, { value: object }>);
  const values = examples.length === 0 ? [{}] : examples.map(({ value }) => value);
  yield values[0]!;
  for (const value of values) yield* spoilt(value, content.schema, components.schemas);
}

function* spoilt(
  value: object,
  schema: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>>,
): Generator<object> {
  const { $ref } = schema as { $ref?: string };
  const named = $ref === undefined ? schema : (schemas[$ref.split('/').at(-1)!] ?? {});
  const properties = (named.properties ?? {}) as Record<string, JsonSchema>;
  const given = value as Record<string, unknown>;
  for (const name of new Set([...Object.keys(properties), ...Object.keys(given)])) {
    for (const text of [UNSTORABLE, [UNSTORABLE], { [UNSTORABLE]: UNSTORABLE }, { a: UNSTORABLE }])
      yield { ...given, [name]: text };
    const inner = given[name];
    if (Array.isArray(inner) && typeof inner[0] === 'object' && inner[0] !== null)
      for (const one of spoilt(inner[0] as object, {}, schemas)) yield { ...given, [name]: [one] };
    else if (typeof inner === 'object' && inner !== null && !Array.isArray(inner))
      for (const one of spoilt(inner, {}, schemas)) yield { ...given, [name]: one };
  }
}

/** With one text after the other that cannot be stored. */
function* messagesOf(type: DescMessage, base: object, depth = 0): Generator<object> {
  for (const field of type.fields) {
    for (const value of valuesOf(field, depth)) {
      const { oneof, localName } = field;
      yield oneof === undefined
        ? { ...base, [localName]: value }
        : { ...base, [oneof.localName]: { case: localName, value } };
    }
  }
}

const TEXT = 9;

function* valuesOf(field: DescField, depth: number): Generator<unknown> {
  const isText = 'scalar' in field && (field.scalar as number | undefined) === TEXT;
  switch (field.fieldKind) {
    case 'scalar':
      if (isText) yield UNSTORABLE;
      return;
    case 'list':
      if (isText) yield [UNSTORABLE];
      else if (field.message && depth < DEPTH_MAX)
        for (const one of messagesOf(field.message, {}, depth + 1)) yield [one];
      return;
    case 'map':
      if (isText) yield { [UNSTORABLE]: UNSTORABLE };
      return;
    case 'message': {
      const { typeName } = field.message;
      if (typeName === 'google.protobuf.Struct') yield { [UNSTORABLE]: UNSTORABLE };
      else if (typeName.startsWith('carillon.') && depth < DEPTH_MAX) {
        const base = field.message.field.cronExpression ? { cronExpression: '0 9 * * *' } : {};
        yield* messagesOf(field.message, base, depth + 1);
      }
      return;
    }
    default:
  }
}
