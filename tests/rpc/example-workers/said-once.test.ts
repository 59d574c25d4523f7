/** What the example workers say while they find no server: each problem once, however often they dial; and advice about TLS only where no server ever answered. */
import { createServer, type Server } from 'node:net';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { fixedPort } from '../../support/processes.ts';
import { makeTestFolder } from '../../support/test-folder.ts';
import { findWorkers, isLeftOut, nameOf, programOf } from './find-workers.ts';
import { KEY, ScriptedServer } from './scripted-server.ts';
import { endWorkers, WorkerProcess } from './worker-process.ts';

const LIMIT = { withinMs: 60_000 };
const DIALS = 6;
const examples = (await findWorkers()).filter(({ language }) => language !== 'typescript');

/** Closes every connection without a word, as a server with TLS does that is dialled in clear. */
class ClosingServer {
  dials = 0;
  readonly #server: Server = createServer((socket) => {
    this.dials += 1;
    socket.on('error', () => undefined).once('data', () => socket.destroy());
  });

  async start(port: number): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    return this;
  }

  async stop(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe.each(examples)('$language', (found) => {
  describe.skipIf(isLeftOut(found))(nameOf(found), () => {
    // Where nothing may be left out, the reason is told before anything is started for nothing.
    beforeAll(() => void programOf(found));
    const undo: (() => Promise<unknown>)[] = [];
    afterEach(async () => {
      await endWorkers();
      await Promise.all(undo.splice(0).map((stop) => stop()));
    });

    const launch = (address: string) =>
      new WorkerProcess({
        ...{ program: programOf(found), folder: makeTestFolder(), servers: [address], key: KEY },
      });

    test('a problem is said once, with advice about TLS, while no server has ever answered', async () => {
      const port = await fixedPort();
      const server = await new ClosingServer().start(port);
      undo.push(() => server.stop());
      const worker = launch(`127.0.0.1:${port}`);
      await eventually(() => expect(server.dials).toBeGreaterThan(DIALS), LIMIT);
      const lines = (await worker.output()).split('\n').filter((line) => line.includes(`:${port}: `));
      const problems = new Set(lines.map((line) => line.replaceAll(/\d+/g, '')));
      expect(lines).toHaveLength(problems.size);
      expect(lines.length).toBeLessThan(DIALS);
      expect(lines.join('\n')).toContain('a server with TLS is dialled by https://');
    });

    test('a server that is gone after it has answered is no reason for advice about TLS', async () => {
      const server = await new ScriptedServer().start();
      const worker = launch(server.address);
      await server.session();
      await eventually(async () => expect(await worker.output()).toContain('connected to'), LIMIT);
      const { address } = server;
      await server.stop();
      const closing = await new ClosingServer().start(Number(address.split(':')[1]));
      undo.push(() => closing.stop());
      await eventually(() => expect(closing.dials).toBeGreaterThan(1), LIMIT);
      expect(await worker.output()).not.toContain('https://');
    });
  });
});
