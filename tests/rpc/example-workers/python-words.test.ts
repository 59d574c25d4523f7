/** What the worker in Python says about an address that leads to no server: first what to do. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { makeTestFolder } from '../../support/test-folder.ts';
import { findWorkers, isLeftOut, nameOf, programOf } from './find-workers.ts';
import { endWorkers, WorkerProcess } from './worker-process.ts';

const SOON = { withinMs: 60_000 };
const found = (await findWorkers()).find(({ language }) => language === 'python')!;

describe.skipIf(isLeftOut(found))(nameOf(found), () => {
  afterEach(endWorkers);

  const launch = (url: string) =>
    new WorkerProcess({ program: programOf(found), folder: makeTestFolder(), servers: [url], key: 'ck_x' });

  test.each(['10.77.0.1', 'http://10.77.0.1/'])('%s lacks a port, and is not dialled', async (url) => {
    const worker = launch(url);
    expect(await worker.exited).toBe(2);
    expect(await worker.output()).toContain('host:port wanted, such as 10.77.0.1:7420');
  });

  test('nothing listens', async () => {
    const worker = launch('127.0.0.1:1');
    await eventually(
      async () => expect(await worker.output()).toMatch(/^127.0.0.1:1: nothing listens there: .*--host/m),
      SOON,
    );
  });

  test('https to a server in clear: no lines of the library', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const worker = launch(`https://${address}`);
    await eventually(
      async () => expect(await worker.output()).toContain(`${address}: the server does not speak TLS`),
      SOON,
    );
    expect(await worker.output()).not.toContain('ssl_transport_security');
  });
});
