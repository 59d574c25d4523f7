import { EventEmitter, once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import type { FastifyRequest } from 'fastify';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { GatewayFixture } from './gateway.fixture.ts';
import { Strangers } from './strangers.ts';

const OF_AN_ADDRESS = 100;
const SOON = { withinMs: 60_000 };

describe('requests of strangers', () => {
  let session: ClientHttp2Session;
  let gateway: GatewayFixture;

  beforeEach(async () => {
    gateway = new GatewayFixture();
    const address = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
    session = connect(address);
    onTestFinished(async () => {
      session.destroy();
      await gateway.app.close();
    });
  });

  function begin(path: string, type: string, authorization?: string): ClientHttp2Stream {
    const headers = { ':method': 'POST', ':path': path, 'content-type': type };
    const asked = session.request({ ...headers, ...(authorization && { authorization }) });
    asked.on('error', () => undefined).resume();
    return asked;
  }

  const signIn = () => begin('/api/session', 'application/json');
  const answerOf = async (asked: ClientHttp2Stream) =>
    ((await once(asked, 'response')) as [Record<string, unknown>])[0];

  test('are bounded while they are on their way, and those of others are not', async () => {
    const open = Array.from({ length: OF_AN_ADDRESS + 20 }, signIn);
    let refused = 0;
    for (const asked of open) {
      asked.on('response', (headers) => {
        refused += headers[':status'] === 429 ? 1 : 0;
      });
      asked.write(Buffer.alloc(8_000, ' '));
    }
    await eventually(() => expect(refused).toBe(20), SOON);
    const check = begin('/grpc.health.v1.Health/Check', 'application/grpc');
    check.end(Buffer.alloc(5));
    expect(((await once(check, 'trailers')) as [object])[0]).toMatchObject({ 'grpc-status': '8' });
    const key = begin('/api/schedules/preview', 'application/json', 'Bearer correct-horse-battery-staple');
    key.end('{"cron_expression":"0 9 * * *"}');
    expect(await answerOf(key)).toMatchObject({ ':status': 200 });
    for (const asked of open) asked.close();
    await eventually(async () => {
      const again = signIn();
      again.end('{"name":"ada","password":"wrong"}');
      expect(await answerOf(again)).toMatchObject({ ':status': 401 });
    }, SOON);
  });

  test('that are here whole are not counted any more', async () => {
    for (let i = 0; i < OF_AN_ADDRESS + 20; i += 1) {
      expect((await gateway.app.inject('/api/openapi.json')).statusCode).toBe(200);
      const check = begin('/grpc.health.v1.Health/Check', 'application/grpc');
      check.end(Buffer.alloc(5));
      expect(((await once(check, 'trailers')) as [object])[0]).toMatchObject({ 'grpc-status': '0' });
    }
  });
});

test('strangers from very many addresses are bounded in total', () => {
  const strangers = new Strangers();
  const raw = new EventEmitter();
  const come = (i: number, from = raw) =>
    strangers.admit({ ip: `10.0.${i >> 8}.${i & 255}`, raw: from as FastifyRequest['raw'] });
  raw.setMaxListeners(0);
  const last = new EventEmitter();
  come(0, last);
  for (let i = 1; i < 2_000; i += 1) come(i);
  expect(() => come(2_000)).toThrow(/^2000 requests without a key or a session are on their way in total/);
  last.emit('close');
  come(2_000);
});
