/**
 * Requests to the S3 store are signed as Amazon has published it. The real server of the other tests believes every signature, so one
 * that computes them by the specification stands in front of it; its own arithmetic is held against the examples of the specification.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { RunId } from '@carillon/domain';
import { systemClock, systemRandom } from '@carillon/foundation';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { S3_BUCKET, S3_KEY, S3Server } from '../../../../../tests/support/s3-server.ts';
import {
  refusalOf,
  type SignedRequest,
  VerifyingS3Front,
} from '../../../../../tests/support/verifying-s3-front.ts';
import { describeLogStore } from '../conformance.ts';
import { S3Bucket } from './s3-bucket.ts';
import { S3LogStore, type S3LogStoreOptions } from './s3-log-store.ts';

const REGION = 'eu-central-1';
const TOKEN = 'a-session/token+with=signs';
let server: S3Server;
let front: VerifyingS3Front;
const opened: { close(): unknown }[] = [];
beforeAll(async () => {
  server = await S3Server.start();
  const { endpoint } = server;
  front = await VerifyingS3Front.start({ endpoint, key: S3_KEY, region: REGION });
});
afterEach(async () => {
  front.aheadMs = 0;
  for (const store of opened.splice(0)) await store.close();
});
afterAll(async () => {
  await front.stop();
  await server.stop();
});

const options = (over: Partial<S3LogStoreOptions> = {}): S3LogStoreOptions => ({
  ...{ endpoint: front.endpoint, bucket: S3_BUCKET, region: REGION, credentials: S3_KEY },
  ...{ prefix: `logs/${randomUUID()}`, clock: systemClock, random: systemRandom },
  // A slow machine must not make it try twice: requests are counted.
  ...{ tryMsMax: 60_000, ...over },
});
const kept = <T extends { close(): unknown }>(store: T): T => {
  opened.push(store);
  return store;
};
const newLog = () => ({ day: '2030-01-31', runId: randomUUID() as RunId, epoch: 3 });
const START = { segment: 0, offset: 0 };

/** Of "Examples: Signature Calculations" in the API reference of S3. */
describe('the judge of signatures', () => {
  const key = {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  };
  const example = (
    {
      method = 'GET',
      target,
      body = '',
      headers = [],
    }: { method?: string; target: string; body?: string; headers?: [string, string][] },
    signature: string,
  ): SignedRequest => {
    const all: [string, string][] = [
      ...headers,
      ['Host', 'examplebucket.s3.amazonaws.com'],
      ['x-amz-content-sha256', createHash('sha256').update(body).digest('hex')],
      ['x-amz-date', '20130524T000000Z'],
    ];
    const names = all
      .map(([name]) => name.toLowerCase())
      .sort()
      .join(';');
    const scope = `${key.accessKeyId}/20130524/us-east-1/s3/aws4_request`;
    const authorization = `AWS4-HMAC-SHA256 Credential=${scope},SignedHeaders=${names},Signature=${signature}`;
    return { method, target, body: Buffer.from(body), headers: [...all, ['Authorization', authorization]] };
  };
  const EXAMPLES = {
    'GET object by range': example(
      { target: '/test.txt', headers: [['Range', 'bytes=0-9']] },
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    ),
    'PUT object': example(
      {
        ...{ method: 'PUT', target: '/test$file.text', body: 'Welcome to Amazon S3.' },
        headers: [
          ['Date', 'Fri, 24 May 2013 00:00:00 GMT'],
          ['x-amz-storage-class', 'REDUCED_REDUNDANCY'],
        ],
      },
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    ),
    'GET lifecycle': example(
      { target: '/?lifecycle' },
      'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    ),
    'GET a list': example(
      { target: '/?max-keys=2&prefix=J' },
      '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    ),
  };
  const world = { key, region: 'us-east-1', nowMs: Date.UTC(2013, 4, 24) };

  test.each(Object.entries(EXAMPLES))('agrees with the specification: %s', (_, asked) => {
    expect(refusalOf(asked, world)).toBeUndefined();
  });

  test('refuses what was changed', () => {
    const asked = EXAMPLES['PUT object'];
    const without = asked.headers.filter(([name]) => name !== 'x-amz-storage-class');
    const added = [...asked.headers, ['x-amz-acl', 'public-read'] as const];
    const otherKey = { ...key, secretAccessKey: 'another' };
    expect([
      refusalOf({ ...asked, body: Buffer.from('other') }, world),
      refusalOf({ ...asked, target: '/other' }, world),
      refusalOf({ ...asked, method: 'GET' }, world),
      refusalOf({ ...asked, headers: without }, world),
      refusalOf({ ...asked, headers: added }, world),
      refusalOf(asked, { ...world, key: otherKey }),
      refusalOf(asked, { ...world, nowMs: world.nowMs + 16 * 60_000 }),
      refusalOf({ ...asked, headers: [] }, world),
    ]).toEqual([
      'XAmzContentSHA256Mismatch',
      ...Array(3).fill('SignatureDoesNotMatch'),
      'AccessDenied',
      'SignatureDoesNotMatch',
      'RequestTimeTooSkewed',
      'AccessDenied',
    ]);
  });
});

describeLogStore('logs in an S3 store that verifies signatures', async () => new S3LogStore(options()));

describe('requests to a store that verifies signatures', () => {
  test('are accepted for writing, listing, reading by range and removing', async () => {
    const store = kept(new S3LogStore(options()));
    const log = newLog();
    const before = front.verified.length;
    await store.write(log, START, Buffer.from('one\n'));
    await store.write(log, { segment: 0, offset: 4 }, Buffer.from('two\n'));
    const read = await store.read(log, { segment: 0, from: 2, bytesMax: 4 });
    expect(Buffer.from(read).toString()).toBe('e\ntw');
    await store.dropSegment(log, 0);
    const asked = front.verified.slice(before);
    expect(asked.map(({ method }) => method)).toEqual([
      ...['GET', 'PUT'],
      ...['GET', 'PUT', 'DELETE'],
      ...['GET', 'GET'],
      ...['GET', 'DELETE'],
    ]);
    const ranges = asked.flatMap(({ headers }) => headers.filter(([name]) => name === 'range'));
    expect(ranges).toEqual([['range', 'bytes=2-5']]);
  });

  test.each([
    'plain/0-0-4.log',
    'with spaces and + signs',
    "marks!'()*~-_.",
    'query?x=1&y=2#part',
    'per%20cent',
    'ümläut/日本/🙂',
    'a=b:c@d,e;f$g',
  ])('are accepted for the key %j, under which it is found again', async (name) => {
    const { prefix, ...shared } = options();
    const bucket = kept(new S3Bucket(shared));
    const key = `${prefix}/${name}`;
    await bucket.put(key, Buffer.from('0123456789'));
    expect(await bucket.keys(`${prefix}/${name.slice(0, 3)}`)).toEqual([key]);
    expect(Buffer.from((await bucket.get(key, { from: 3, bytes: 4 }))!).toString()).toBe('3456');
    await bucket.remove(key);
    expect(await bucket.get(key, { from: 0, bytes: 1 })).toBeUndefined();
  });

  test('carry the token of a session, signed', async () => {
    const key = { ...S3_KEY, sessionToken: TOKEN };
    const session = await VerifyingS3Front.start({ endpoint: server.endpoint, key, region: REGION });
    try {
      const store = kept(new S3LogStore(options({ endpoint: session.endpoint, credentials: key })));
      await store.write(newLog(), START, Buffer.from('x'));
      expect(session.verified.map(({ method }) => method)).toEqual(['GET', 'PUT']);
    } finally {
      await session.stop();
    }
  });

  test.each([
    [
      'a wrong secret',
      { credentials: { ...S3_KEY, secretAccessKey: 'wrong' } },
      'SignatureDoesNotMatch',
      /secret access key/,
    ],
    [
      'an unknown key',
      { credentials: { ...S3_KEY, accessKeyId: 'unknown' } },
      'InvalidAccessKeyId',
      /access key/,
    ],
    ['another region', { region: 'us-east-1' }, 'AuthorizationHeaderMalformed', /logs\.s3\.region/],
  ])('with %s are refused, and it is said what to check', async (_, over, code, message) => {
    const store = kept(new S3LogStore(options(over)));
    const written = store.write(newLog(), START, Buffer.from('x'));
    await expect(written).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  test.each([
    [20 * 60_000, /20 minutes behind/],
    [-3 * 3_600_000, /180 minutes ahead of/],
  ])('of a server whose clock is wrong by %d ms say so', async (aheadMs, message) => {
    front.aheadMs = aheadMs;
    const store = kept(new S3LogStore(options()));
    const written = store.write(newLog(), START, Buffer.from('x'));
    await expect(written).rejects.toMatchObject({
      code: 'RequestTimeTooSkewed',
      message: expect.stringMatching(message),
    });
  });
});
