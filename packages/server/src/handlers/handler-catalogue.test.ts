import type { HandlerDescription } from '@carillon/domain';
import { type Log, ManualClock } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import { MemoryStorage } from '../storage/memory/memory-storage.ts';
import type { Storage } from '../storage/storage.ts';
import { HandlerCatalogue } from './handler-catalogue.ts';
import { HANDLER_MS_MAX } from './schema-time.ts';

let clock: ManualClock;
let storage: Storage;
let logged: object[];
let reads: number;

const log: Log = {
  ...{ debug: () => {}, info: () => {}, error: () => {}, child: () => log },
  warn: (facts) => void logged.push(facts),
};

beforeEach(() => {
  clock = new ManualClock(Date.UTC(2030, 0, 1));
  storage = new MemoryStorage({ clock });
  logged = [];
  reads = 0;
});

/** Of one server; all share the storage. */
function catalogue(): HandlerCatalogue {
  const { handlers: store } = storage;
  const counted = {
    recordHandlers: store.recordHandlers.bind(store),
    handlerNames: store.handlerNames.bind(store),
    recordBound: store.recordBound.bind(store),
    boundSchemas: store.boundSchemas.bind(store),
    describeHandlers: (names: readonly string[]) => {
      reads += 1;
      return store.describeHandlers(names);
    },
  };
  return new HandlerCatalogue({ store: counted, clock, log });
}

const NEEDS_URL = JSON.stringify({ type: 'object', required: ['url'] });
const described = (over: Partial<HandlerDescription> = {}): HandlerDescription => ({
  ...{ name: 'resize', description: undefined, parameters: NEEDS_URL, origin: 'plugin', ...over },
});
const job = (payload: object, handler = 'resize', namespace = 'default') => ({
  ...{ handler, namespace, payload: JSON.stringify(payload) },
});
const named = (names: readonly string[]) => names.map((handler) => ({ handler, namespace: 'default' }));
const MISSING = { code: 'field_missing', field: 'payload.url' };

test('a payload for a handler that nobody describes is accepted', async () => {
  await expect(catalogue().checkPayload(job({}))).resolves.toBeUndefined();
});

test('a server checks by what the worker of another one recorded, within seconds', async () => {
  const gateway = catalogue();
  await gateway.checkPayload(job({}));
  await catalogue().recordSchemas([described()]);
  clock.advance(3_000);
  await expect(gateway.checkPayload(job({}))).rejects.toMatchObject(MISSING);
  await expect(gateway.checkPayload(job({ url: 'x' }))).resolves.toBeUndefined();
});

test('what it recorded itself counts at once', async () => {
  const one = catalogue();
  await one.checkPayload(job({}));
  await one.recordSchemas([described()]);
  await expect(one.checkPayload(job({}))).rejects.toMatchObject(MISSING);
});

test('many jobs cost one read, and none while it is known', async () => {
  const one = catalogue();
  const names = Array.from({ length: 100 }, (_, i) => `handler-${i}`);
  await one.checkFor(named([...names, ...names]));
  await one.checkFor(named(names));
  await one.checkFor(named(['http']));
  expect(reads).toBe(1);
});

test('a worker harms only its own handlers: what cannot be used of it is left out and named', async () => {
  const one = catalogue();
  const worker = 'worker' as const;
  await one.recordSchemas(
    [
      described({ name: 'broken', parameters: '{', origin: worker }),
      described({ name: 'list', parameters: '[]', origin: worker }),
      described({ name: 'large', parameters: `{"a":"${'x'.repeat(70_000)}"}`, origin: worker }),
      described({ name: 'no name', origin: worker }),
      described({ name: 'wordy', description: 'x'.repeat(2_000), origin: worker }),
      described({ origin: worker }),
    ],
    { workerId: 'w1' },
  );
  expect(logged).toMatchObject([
    { workerId: 'w1', offered: 6, used: 5 },
    { workerId: 'w1', handler: 'broken', reason: 'the schema is not valid JSON' },
    { workerId: 'w1', handler: 'list', reason: 'the schema is not an object' },
    { workerId: 'w1', handler: 'large', reason: 'the schema has more than 65536 bytes' },
  ]);
  await expect(one.checkPayload(job({}, 'broken'))).resolves.toBeUndefined();
  await expect(one.checkPayload(job({}))).rejects.toMatchObject(MISSING);
  expect((await storage.handlers.describeHandlers(['wordy']))[0]?.description).toHaveLength(1_000);
});

test('a schema that cannot be used is told of once; its payloads are accepted', async () => {
  const one = catalogue();
  await one.recordSchemas([described({ parameters: '{"$ref":"https://example.org"}', origin: 'worker' })]);
  for (let i = 0; i < 3; i += 1) await one.checkPayload(job({}));
  expect(logged).toMatchObject([
    { handler: 'resize', reason: expect.stringContaining('https://example.org') },
  ]);
});

test('hazard 23: schemas of workers that waste time are not used for the rest of the minute', async () => {
  const servers = catalogue();
  const slow = (i: number) =>
    described({
      ...{ name: `slow-${i}`, origin: 'worker' },
      parameters: JSON.stringify({ $comment: `${i}`, properties: { text: { pattern: '^((a+)+)+$' } } }),
    });
  const names = Array.from({ length: 8 }, (_, i) => slow(i));
  await servers.recordSchemas([...names, described({ name: 'honest', origin: 'worker' })]);
  // The clock of the test stands still while a pattern is tried: what was wasted is told by hand.
  const patience = clock.monotonic.bind(clock);
  let wasted = 0;
  clock.monotonic = () => {
    wasted += 300;
    return patience() + wasted;
  };
  for (const { name } of names) await servers.checkPayload(job({ text: `${'a'.repeat(40)}!` }, name));
  expect(logged.length).toBeLessThan(names.length);
  await expect(servers.checkPayload(job({}, 'honest'))).resolves.toBeUndefined();
  wasted += 60_000;
  await expect(servers.checkPayload(job({}, 'honest'))).rejects.toMatchObject(MISSING);
});

test('hazard 23: schemas of workers that take long are not used for the rest of the minute, also where they refuse or accept', async () => {
  const servers = catalogue();
  await servers.recordSchemas([
    described({ name: 'slow', origin: 'worker' }),
    described({ name: 'honest', origin: 'worker' }),
    described({ name: 'own', origin: 'plugin' }),
  ]);
  // The clock of the test stands still while a payload is checked: each look at it takes time instead.
  const still = clock.monotonic.bind(clock);
  let [spent, perLook] = [0, 240];
  clock.monotonic = () => {
    spent += perLook;
    return still() + spent;
  };
  const slow = job({}, 'slow');
  const check = await servers.checkFor(named(['slow', 'honest', 'own']));
  let refused = 0;
  for (let i = 0; i < 100; i += 1) {
    try {
      check?.(slow);
    } catch {
      refused += 1;
    }
  }
  expect(refused).toBeLessThanOrEqual(Math.ceil(HANDLER_MS_MAX / perLook));
  expect(refused).toBeGreaterThan(1);
  expect(logged).toMatchObject([{ handler: 'slow' }]);
  perLook = 0;
  for (const other of ['honest', 'own']) expect(() => check?.(job({}, other))).toThrow('url');
  spent += 60_000;
  expect(() => check?.(slow)).toThrow('url');
});

describe('schemas of a worker that is bound to namespaces', () => {
  const bound = (over: { name?: string; parameters?: string } = {}) => ({
    ...{ name: 'resize', parameters: NEEDS_URL },
    ...over,
  });
  const of = (namespaces: readonly string[]) => ({ namespaces, worker: { workerId: 'w1' } });
  beforeEach(async () => {
    await storage.accounts.createNamespace({ name: 'media', description: '', createdAtMs: 0 });
  });

  test('count for the jobs of these namespaces, and for no others', async () => {
    const [gateway, other] = [catalogue(), catalogue()];
    await gateway.checkPayload(job({}, 'resize', 'media'));
    await other.recordBoundSchemas([bound()], of(['media']));
    await expect(other.checkPayload(job({}, 'resize', 'media'))).rejects.toMatchObject(MISSING);
    clock.advance(3_000);
    const check = await gateway.checkFor([job({}), job({}, 'resize', 'media')]);
    expect(() => check?.(job({}, 'resize', 'media'))).toThrow(expect.objectContaining(MISSING));
    expect(() => check?.(job({}))).not.toThrow();
    await expect(gateway.checkPayload(job({ url: 'x' }, 'resize', 'media'))).resolves.toBeUndefined();
  });

  test('come before those of workers of all namespaces, and after what a server says of its own handlers', async () => {
    const one = catalogue();
    const needsSize = JSON.stringify({ type: 'object', required: ['size'] });
    await one.recordBoundSchemas([bound(), bound({ name: 'own' })], of(['media']));
    await one.recordSchemas([
      described({ origin: 'worker', parameters: needsSize }),
      described({ name: 'own', origin: 'plugin', parameters: needsSize }),
    ]);
    await expect(one.checkPayload(job({ url: 'x' }, 'resize', 'media'))).resolves.toBeUndefined();
    await expect(one.checkPayload(job({ url: 'x' }, 'own', 'media'))).rejects.toMatchObject({
      field: 'payload.size',
    });
    await expect(one.checkPayload(job({ url: 'x' }))).rejects.toMatchObject({ field: 'payload.size' });
  });

  test('are bounded: what cannot be used, or is too much for all namespaces together, is left out and named', async () => {
    const one = catalogue();
    const large = `{"a":"${'x'.repeat(60_000)}"}`;
    const many = Array.from({ length: 100 }, (_, i) => bound({ name: `handler-${i}`, parameters: large }));
    await one.recordBoundSchemas(
      [bound({ name: 'broken', parameters: '{' }), bound(), ...many],
      of(['media']),
    );
    expect(logged).toMatchObject([
      { workerId: 'w1', handler: 'broken', reason: 'the schema is not valid JSON' },
      { workerId: 'w1', reason: 'the worker has too many in all its namespaces' },
    ]);
    await expect(one.checkPayload(job({}, 'resize', 'media'))).rejects.toMatchObject(MISSING);
  });
});
