/** What becomes of streams that are refused or send garbage: the worker hears why, the log says it, and whoever goes on is held off. */
import { connect } from 'node:http2';
import { type Caller, SERVER, WORKER_SCOPES } from '@carillon/domain';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { RawStreams } from './raw-stream.fixture.ts';
import { KEY, WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };
/** A message with a length of three bytes that are no field. */
const GARBAGE = Buffer.from([0, 0, 0, 0, 3, 0xff, 0xff, 0xff]);

let home: WorkerHomeFixture;
let address: string;
let streams: RawStreams;

beforeEach(async () => {
  home = await WorkerHomeFixture.open();
  const of = (id: string) => ({ ...SERVER, kind: 'key', id, name: id, scopes: WORKER_SCOPES }) as Caller;
  home.keys.set('bound', { ...of('bound'), offers: ['quick'] });
  home.keys.set('other', of('other'));
  ({ address } = await home.listen());
  streams = new RawStreams(address);
});

afterEach(async () => {
  streams.close();
  await home.close();
});

async function refused(key: string, over: Parameters<RawStreams['connected']>[0] = {}) {
  const stream = streams.open(key);
  stream.hello(over);
  await stream.untilEnded();
  return stream.goodbye;
}

/** Answers what the stream said, as bytes. */
function sendGarbage(): Promise<Buffer> {
  const session = connect(address);
  const headers = { ':method': 'POST', ':path': '/carillon.worker.v1.WorkerService/Session', te: 'trailers' };
  const request = session.request({
    ...{ ...headers, 'content-type': 'application/grpc', authorization: `Bearer ${KEY}` },
  });
  const heard: Buffer[] = [];
  request.on('data', (bytes: Buffer) => heard.push(bytes));
  request.write(GARBAGE);
  return new Promise((resolve, reject) => {
    request.on('end', () => resolve(Buffer.concat(heard)));
    request.on('error', reject);
    request.on('close', () => session.close());
  });
}

test('a worker of an older protocol is told not to dial again, and that is in the log', async () => {
  const workerId = newId();
  expect(await refused(KEY, { workerId, protocol: 0 })).toMatchObject({
    reason: expect.stringContaining('use a newer version of its library'),
    dialAgain: false,
  });
  expect(home.warnings).toEqual(['a worker was refused']);
  expect(home.warned).toMatchObject([
    { keyId: 'server', workerId, reason: expect.stringContaining('protocol 1') },
  ]);
});

test('a second worker under one id, and one whose key does not allow a handler, are in the log once', async () => {
  const workerId = newId();
  await streams.connected({ workerId });
  for (let i = 0; i < 3; i += 1) {
    await refused(KEY, { workerId });
    await refused('bound', { workerId, offer: { slots: 1, handlers: [{ name: 'drop-tables' }] } });
  }
  expect(home.warned).toMatchObject([
    {
      keyId: 'server',
      workerId,
      reason: expect.stringContaining('another process works under this worker id'),
    },
    { keyId: 'bound', workerId, reason: 'the key may not offer the handler drop-tables' },
  ]);
});

test('bytes that are no message end the stream with the reason; a key that goes on with it is held off, and no other', async () => {
  const open = await streams.connected();
  for (let i = 0; i < 5; i += 1)
    expect((await sendGarbage()).toString()).toContain('The message cannot be read');
  expect(await refused(KEY)).toMatchObject({
    reason: expect.stringContaining('broke the protocol 5 times within a minute'),
    dialAgain: true,
    afterMs: expect.toSatisfy((ms: number) => ms > 0 && ms <= 60_000),
  });
  expect(home.warnings.filter((text) => text.includes('held off'))).toHaveLength(1);
  expect(home.errors).toEqual([]);
  // Streams that are open go on.
  open.say({ beat: { sequence: 1 } });
  await eventually(() => expect(open.heard.some(({ beatAnswer }) => beatAnswer)).toBe(true), SOON);
  const other = streams.open('other');
  other.hello();
  await other.welcomed();
});
