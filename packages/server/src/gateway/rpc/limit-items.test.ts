import { create, toBinary, toJsonString } from '@bufbuild/protobuf';
import { protocol as P } from '@carillon/worker';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limitItems } from './limit-items.ts';

const LIMITS = { items: 10, numbers: 20 };
const BYTES_MAX = 100_000;
const PROTO = 'application/grpc+proto';
const message = (init: Parameters<typeof create<typeof P.SessionRequestSchema>>[1]) =>
  create(P.SessionRequestSchema, init);
const inProto = (init: Parameters<typeof message>[0]) => toBinary(P.SessionRequestSchema, message(init));

function enveloped(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

async function passed(chunks: Iterable<Uint8Array>, contentType = PROTO): Promise<Buffer> {
  const body = (async function* () {
    yield* chunks;
  })();
  const options = { input: P.SessionRequestSchema, contentType, limits: LIMITS, bytesMax: BYTES_MAX };
  const out: Uint8Array[] = [];
  for await (const chunk of limitItems(body, options)) out.push(chunk);
  return Buffer.concat(out);
}

const many = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);

describe('a message', () => {
  test.each([
    ['empty messages', inProto({ outputs: many(11, {}) })],
    ['messages of several lists', inProto({ outputs: many(6, {}), ended: many(6, {}) })],
    ['messages within messages', inProto({ hello: { heldRuns: many(11, {}) } })],
    ['texts', inProto({ beat: { heldLeases: many(20, '') } })],
    ['numbers in one piece', inProto({ ended: [{ positions: many(21, 1) }] })],
    ['one message over and over', Buffer.concat(many(11, inProto({ capacity: { slots: 1 } })))],
    ['fields that nobody knows', Buffer.concat(many(11, Buffer.from([0xfa, 0x3f, 0x00])))],
    [
      'labels',
      inProto({ hello: { offer: { labels: Object.fromEntries(many(11, 0).map((_, i) => [i, ''])) } } }),
    ],
  ])('with too many %s ends the stream', async (_, bytes) => {
    expect(bytes.length).toBeGreaterThan(LIMITS.items);
    await expect(passed([enveloped(bytes)])).rejects.toThrow('a message holds more than 10 items');
  });

  test('with as many as there may be is passed on, however long its texts are', async () => {
    const outputs = many(9, { leaseId: 'x'.repeat(100), bytes: new Uint8Array(100).fill(0x3a) });
    const bytes = enveloped(inProto({ outputs, ended: [{ positions: many(20, 300) }] }));
    expect(await passed([bytes])).toEqual(bytes);
  });

  test('in JSON is judged alike', async () => {
    const json = (count: number) =>
      enveloped(
        Buffer.from(
          toJsonString(
            P.SessionRequestSchema,
            message({ checkpoints: many(count, { value: '{"a":[1,2,3,4,5,6,7,8,9]}"\\"' }) }),
          ),
        ),
      );
    const type = 'application/connect+json';
    expect(await passed([json(1)], type)).toEqual(json(1));
    await expect(passed([json(11)], type)).rejects.toThrow('items');
  });

  test('that is too long is left to who refuses it, and what is not well-formed as well', async () => {
    const long = Buffer.concat([enveloped(new Uint8Array(BYTES_MAX + 1)), Buffer.from('more')]);
    expect(await passed([long.subarray(0, 50_000), long.subarray(50_000)])).toEqual(long);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 12, maxLength: 60 }), async (bytes) => {
        const sent = enveloped(bytes);
        await passed([sent]).then(
          (got) => expect(got).toEqual(sent),
          (error: Error) => expect(error.message).toContain('items'),
        );
      }),
    );
  });
});

test('messages come out as they came, wherever they are cut', async () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 10 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(messages, fc.array(fc.nat(60)), fc.nat(4), async (bodies, cuts, missing) => {
      const all = Buffer.concat(bodies.map(enveloped));
      const sent = all.subarray(0, Math.max(0, all.length - missing));
      const ends = [...cuts.filter((cut) => cut < sent.length), sent.length].sort((a, b) => a - b);
      const chunks = ends.map((end, i) => sent.subarray(ends[i - 1] ?? 0, end));
      expect((await passed(chunks)).equals(sent)).toBe(true);
    }),
  );
});
