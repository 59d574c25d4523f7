/** Which servers take workers: those with the role dispatcher, whatever else they serve. The others say so in words, with a status by which workers go on. */
import type { AddressInfo } from 'node:net';
import { create } from '@bufbuild/protobuf';
import { protocol as P } from '@carillon/worker';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { expect, onTestFinished, test } from 'vitest';
import type { GatewayOptions } from './create-gateway.ts';
import { GatewayFixture, KEY } from './gateway.fixture.ts';

const SHARES = {
  'the whole interface': {},
  'health alone': { healthOnly: true },
  reads: { served: 'reads' },
  writes: { served: 'writes' },
} as const satisfies Record<string, Partial<GatewayOptions>>;

const WORKERS: NonNullable<GatewayOptions['workers']> = {
  async *serve() {
    yield create(P.SessionResponseSchema, { welcome: { workerId: 'taken' } });
  },
  stop: async () => undefined,
};

async function dial(options: Partial<GatewayOptions>, key = KEY): Promise<string> {
  const { app } = new GatewayFixture(options);
  await app.listen({ port: 0, host: '127.0.0.1' });
  onTestFinished(() => app.close());
  const baseUrl = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const client = createClient(P.WorkerService, createGrpcTransport({ baseUrl }));
  const requests = async function* () {
    yield create(P.SessionRequestSchema, {});
  };
  try {
    const headers = { authorization: `Bearer ${key}` };
    for await (const { welcome } of client.session(requests(), { headers })) return String(welcome?.workerId);
    return 'ended';
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    return `${Code[code]}: ${rawMessage}`;
  }
}

test.each(Object.entries(SHARES))(
  'a server with a dispatcher that serves %s takes workers',
  async (_, share) => {
    expect(await dial({ ...share, workers: WORKERS })).toBe('taken');
  },
);

test.each(Object.entries(SHARES))(
  'a server without a dispatcher that serves %s sends workers on',
  async (_, share) => {
    expect(await dial(share)).toBe(
      'Unavailable: This server has not the role dispatcher: dial one that has.',
    );
    expect(await dial(share, 'another-key')).toMatch(/^Unauthenticated/);
  },
);
