/** Two servers on real connections: one has logs in its folder, the other reads them there, and nobody else does. */
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import type { BootId, NodeId, RunId } from '@carillon/domain';
import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import fastify from 'fastify';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { answerProblems } from '../gateway/answer-problems.ts';
import { GatewayPort } from '../gateway/listener/gateway-port.ts';
import { makeCertificate } from '../gateway/listener/test-certificate.fixture.ts';
import { peerLogsEndpoint } from '../gateway/peer-logs-endpoint.ts';
import { MemoryLogStore } from '../log-store/memory-log-store.ts';
import { LogOutOfReach } from '../run-logs/run-logs.ts';
import { newId } from '../storage/conformance/sample-job.ts';
import { MemoryStorage } from '../storage/memory/memory-storage.ts';
import { PeerKey } from './peer-key.ts';
import { PEER_LOGS_PATH, PeerLogs } from './peer-logs.ts';
import { Peers } from './peers.ts';

const START_MS = 1_800_000_000_000;
const LOG = { day: '2030-01-01', runId: '01893f2e-7c12-7d01-8e11-b0b1b2b3b4b5' as RunId, epoch: 1 };
const certificates = makeCertificate();
const undo: (() => unknown)[] = [];
let clock: ManualClock;
let storage: MemoryStorage;
let refused: number;

beforeEach(() => {
  clock = new ManualClock(START_MS);
  storage = new MemoryStorage({ clock });
  refused = 0;
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});
afterAll(() => certificates.remove());

const publish = (peers: Peers, urls: readonly string[], certificate?: string) =>
  storage.members.publishAddresses({
    ...{ bootId: peers.bootId, addresses: [], untilMs: clock.now() + 30_000, forgetBeforeMs: 0 },
    peer: { nodeId: peers.nodeId, urls, publicKey: peers.publicKey, certificate },
  });

const newPeers = () =>
  new Peers({ nodeId: newId<NodeId>(), bootId: newId<BootId>(), members: storage.members, clock });

/** Has a log of 40 bytes, in two segments. */
async function owner({ tls = false, urls }: { tls?: boolean; urls?: (own: string) => string[] } = {}) {
  const peers = newPeers();
  const store = new MemoryLogStore();
  await store.write(LOG, { segment: 0, offset: 0 }, Buffer.from('0123456789'));
  await store.write(LOG, { segment: 1_000, offset: 1_000 }, Buffer.from('a'.repeat(30)));
  const port = await GatewayPort.prepare({
    ...{ port: 0, host: '127.0.0.1', tls: tls ? certificates : undefined, publicUrl: undefined },
    ...{ clock, random: new SeededRandom(1), log: silentLog },
  });
  const app = fastify({ serverFactory: port.listener.serverFactory });
  app.setErrorHandler(answerProblems(silentLog).onError);
  peerLogsEndpoint(app, {
    ...{ peers, store },
    admitAnonymous: () => {
      refused += 1;
    },
  });
  const address = await port.open(app);
  undo.push(() => Promise.all([app.close(), port.close()]));
  await publish(peers, urls?.(address) ?? [address], port.fingerprint);
  return { peers, store, address, app, port };
}

/** Reads logs of others. */
async function reader(answerMsMax?: number) {
  const peers = newPeers();
  await publish(peers, []);
  const logs = new PeerLogs({ peers, clock, ...(answerMsMax === undefined ? {} : { answerMsMax }) });
  undo.push(() => logs.close());
  return { peers, logs };
}

/** Accepts connections and does with them what it is told. */
async function program(answer: string | undefined): Promise<string> {
  const server: Server = createTcpServer((socket) => {
    socket.on('error', () => undefined).resume();
    if (answer !== undefined) socket.once('data', () => socket.end(answer));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  undo.push(() => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe.each([false, true])('under TLS: %s, a server', (tls) => {
  test('reads the log that another one has, in the parts that it asks for', async () => {
    const { peers, store } = await owner({ tls });
    const { logs } = await reader();
    const source = await logs.of(peers.nodeId);
    expect(await source?.segments(LOG)).toEqual([
      { start: 0, bytes: 10 },
      { start: 1_000, bytes: 30 },
    ]);
    const read = (segment: number, from: number, bytesMax: number) =>
      source?.read(LOG, { segment, from, bytesMax }).then(String);
    expect(await read(0, 2, 5)).toBe('23456');
    expect(await read(1_000, 1_028, 100)).toBe('aa');
    expect(await read(0, 10, 100)).toBe('');
    expect(await source?.segments({ ...LOG, epoch: 2 })).toEqual([]);
    const result = { ...LOG, part: 'result' } as const;
    expect(await source?.segments(result)).toEqual([]);
    await store.write(result, { segment: 0, offset: 0 }, Buffer.from('[1]'));
    expect(String(await source?.read(result, { segment: 0, from: 0, bytesMax: 10 }))).toBe('[1]');
  });

  test('finds the one of several addresses that leads there', async () => {
    const [other, mute] = [
      await program('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]'),
      await program(undefined),
    ];
    const { peers } = await owner({
      tls,
      urls: (own) => [
        ...[mute, other, 'http://127.0.0.1:1'].map((url) => url.replace(/^http/, tls ? 'https' : 'http')),
        own,
      ],
    });
    const { logs } = await reader();
    expect(String(await (await logs.of(peers.nodeId))?.read(LOG, { segment: 0, from: 0, bytesMax: 3 }))).toBe(
      '012',
    );
  });
});

describe('a server that cannot be asked', () => {
  const failure = async (logs: PeerLogs, nodeId: NodeId) => {
    const source = await logs.of(nodeId);
    return (await source?.segments(LOG).catch((error: unknown) => error)) as LogOutOfReach;
  };

  test('and was never heard of has no logs here', async () => {
    const { logs } = await reader();
    expect(await logs.of(newId<NodeId>())).toBeUndefined();
  });

  test.each([
    ['is gone', async () => 'http://127.0.0.1:1', 'nothing listens at its address'],
    ['is mute', () => program(undefined), 'it does not answer in time'],
    [
      'is another program',
      () => program('HTTP/1.1 200 OK\r\n\r\n{}'),
      'another program answers at its address',
    ],
    ['is no HTTP server', () => program('hello\r\n\r\n'), expect.any(String)],
  ])('because it %s is named, with the reason', async (_, address, why) => {
    const url = await address();
    const { peers } = await owner({ urls: () => [url] });
    const { logs } = await reader(300);
    const error = await failure(logs, peers.nodeId);
    expect(error).toBeInstanceOf(LogOutOfReach);
    expect(error).toMatchObject({ nodeId: peers.nodeId, why });
  });

  test('is asked again after a moment, and then answers', async () => {
    const { peers, address, port } = await owner({ urls: () => ['http://127.0.0.1:1'] });
    const { logs } = await reader();
    expect(await failure(logs, peers.nodeId)).toBeInstanceOf(LogOutOfReach);
    await publish(peers, [address], port.fingerprint);
    expect(await failure(logs, peers.nodeId)).toMatchObject({ why: 'nothing listens at its address' });
    clock.advance(5_000);
    expect(await failure(logs, peers.nodeId)).toHaveLength(2);
  });

  test('that sends more than was asked for is not listened to', async () => {
    const bootId = newId<BootId>();
    const url = await program(`HTTP/1.1 200 OK\r\nx-carillon-server: ${bootId}\r\n\r\n${'x'.repeat(1_000)}`);
    const [nodeId, { publicKey }] = [newId<NodeId>(), new PeerKey(bootId)];
    await storage.members.publishAddresses({
      ...{ bootId, addresses: [], untilMs: clock.now(), forgetBeforeMs: 0 },
      peer: { nodeId, urls: [url], publicKey },
    });
    const { logs } = await reader();
    const source = await logs.of(nodeId);
    await expect(source?.read(LOG, { segment: 0, from: 0, bytesMax: 10 })).rejects.toMatchObject({
      why: 'it answered more than was asked for',
    });
  });

  test('with another certificate than it published is sent nothing', async () => {
    const { peers, address } = await owner({ tls: true });
    await publish(peers, [address], 'AA:BB');
    const { logs } = await reader();
    expect(await failure(logs, peers.nodeId)).toMatchObject({
      why: 'it shows another certificate than the one it published',
    });
  });
});

describe('the address for servers', () => {
  const PATH = `${PEER_LOGS_PATH}/${LOG.day}/${LOG.runId}/1.log`;

  async function ask(address: string, path: string, authorization?: string, method = 'GET') {
    const answer = await fetch(`${address}${path}`, {
      method,
      headers: authorization === undefined ? {} : { authorization },
    });
    return { status: answer.status, text: await answer.text() };
  }

  test('answers a signature once made for it, for half a minute', async () => {
    const { peers: to, address } = await owner();
    const { peers } = await reader();
    const header = await peers.sign({ method: 'GET', path: PATH, to: to.nodeId });
    expect((await ask(address, PATH, header)).status).toBe(200);
    clock.advance(30_000);
    expect((await ask(address, PATH, header)).status).toBe(200);
    clock.advance(1);
    expect((await ask(address, PATH, header)).status).toBe(401);
    expect(refused).toBe(1);
  });

  test('refuses everybody else, whatever they claim to be', async () => {
    const { peers: to, address } = await owner();
    const { peers } = await reader();
    const request = { method: 'GET', path: PATH, to: to.nodeId };
    const signed = await peers.sign(request);
    const [scheme, boot, at, signature] = signed.split(' ');
    const stranger = new PeerKey(newId<BootId>());
    const forger = new PeerKey(peers.bootId);
    const itself = await to.sign(request);
    const headers = [
      ...[undefined, '', 'Bearer abc', 'Carillon-Server', `Bearer ${signature}`],
      ...[stranger.sign(request, clock.now()), forger.sign(request, clock.now()), itself],
      ...[`${scheme} ${boot} ${Number(at) + 1} ${signature}`, `${scheme} ${to.bootId} ${at} ${signature}`],
      ...[`${scheme} ${boot} ${at} ${'A'.repeat(86)}`, `${signed} `.repeat(2)],
      await peers.sign({ ...request, to: newId<NodeId>() }),
      await peers.sign({ ...request, path: `${PATH}/0?from=0&bytes=1` }),
      await peers.sign({ ...request, method: 'POST' }),
    ];
    for (const header of headers) {
      const { status, text } = await ask(address, PATH, header);
      expect([header, status]).toEqual([header, 401]);
      expect(JSON.parse(text)).toMatchObject({ code: 'unauthorized' });
    }
    expect(refused).toBe(headers.length);
    expect((await ask(address, PATH, signed)).status).toBe(200);
  });

  test('gives nothing but parts of logs', async () => {
    const { peers: to, address } = await owner();
    const { peers } = await reader();
    const paths = [
      `${PEER_LOGS_PATH}/2030-01-01/${LOG.runId}/x`,
      `${PEER_LOGS_PATH}/2030-01-01/${LOG.runId}/1`,
      `${PEER_LOGS_PATH}/2030-01-01/${LOG.runId}/1.key`,
      `${PEER_LOGS_PATH}/2030-01-01/..%2f..%2fadmin.key/1`,
      `${PEER_LOGS_PATH}/..%2f/${LOG.runId}/1`,
      `${PATH}/0`,
      `${PATH}/0?from=-1&bytes=5`,
      `${PATH}/0?from=0&bytes=1e3`,
      `${PATH}/..%2f?from=0&bytes=1`,
      PEER_LOGS_PATH,
      `${PATH}/0/1`,
    ];
    for (const path of paths) {
      const header = await peers.sign({ method: 'GET', path, to: to.nodeId });
      expect([path, (await ask(address, path, header)).status]).toEqual([path, 404]);
    }
  });

  test('sends at most 256 KiB at once', async () => {
    const { peers: to, store } = await owner();
    await store.write({ ...LOG, epoch: 2 }, { segment: 0, offset: 0 }, Buffer.alloc(300 * 1_024));
    const { logs } = await reader();
    const source = await logs.of(to.nodeId);
    const read = await source?.read({ ...LOG, epoch: 2 }, { segment: 0, from: 0, bytesMax: 1_000_000 });
    expect(read?.length).toBe(256 * 1_024);
  });
});
