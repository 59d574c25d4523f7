/**
 * The key of a data folder goes only to a server that knows it: the address in the folder of a killed server stays behind, and any
 * user of the machine can listen there. And a folder that came from elsewhere is not believed, for whoever made it knows its key.
 */
import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../packages/cli/src/errors.ts';
import { birthRecord } from '../../packages/foundation/src/birth-record.ts';
import { fixedPort } from '../support/processes.ts';
import { endServers, launchServer } from '../support/start-server-process.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { runCarillon } from './run-carillon.ts';

afterAll(() => endServers());

const KEY = `ck_admin_${'k'.repeat(43)}`;
const COMMANDS = [['jobs', 'list'], ['status'], ['jobs', 'create', 'secret', '--http', 'http://127.0.0.1:9']];

type Answering = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

let impostor: Server | undefined;

afterEach(() => {
  impostor?.closeAllConnections();
  impostor?.close();
});

/** Answers the requests that it was sent. */
async function listenInstead(port: number, answer: Answering): Promise<{ url: string; headers: string }[]> {
  const seen: { url: string; headers: string }[] = [];
  const server = createServer((request, response) => {
    seen.push({ url: request.url ?? '', headers: JSON.stringify(request.headers) });
    void answer(request, response);
  });
  impostor = server;
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return seen;
}

function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function writeFolder(folder: string, address: string, key = KEY): Promise<void> {
  await mkdir(join(folder, '.carillon'), { mode: 0o700 });
  await writeFile(join(folder, '.carillon/server.lock'), JSON.stringify({ pid: 1, address }), {
    mode: 0o600,
  });
  await writeFile(join(folder, '.carillon/admin.key'), `${key}\n`, { mode: 0o600 });
  const birth = await stat(join(folder, '.carillon'), { bigint: true });
  await writeFile(join(folder, '.carillon/made-here'), birthRecord(birth), { mode: 0o600 });
}

function git(...args: string[]): void {
  const as = ['-c', 'user.name=a', '-c', 'user.email=a@example.org'];
  execFileSync('/bin/sh', ['-c', 'umask 077; exec git "$@"', 'git', ...as, ...args], { stdio: 'pipe' });
}

/** With the names that its author chose, and in private files: nothing in it but where it lies tells it from a folder of one's own. */
async function cloneOf(folder: string): Promise<string> {
  const clone = join(makeTestFolder(), 'clone');
  git('init', '-q', folder);
  git('-C', folder, 'add', '-A', '-f');
  git('-C', folder, 'commit', '-q', '-m', 'x');
  git('clone', '-q', folder, clone);
  expect((await stat(join(clone, '.carillon/admin.key'))).mode & 0o777).toBe(0o600);
  return clone;
}

test('whoever listens where a killed server was gets neither its key nor a request', async () => {
  const folder = makeTestFolder();
  const port = await fixedPort();
  const server = await launchServer({ name: '.carillon', folder, port }).ready();
  expect(await runCarillon(['jobs', 'list'], { cwd: folder })).toMatchObject({ code: 0 });
  await server.kill();
  const seen = await listenInstead(port, (_request, response) => json(response, { proof: 'x'.repeat(43) }));
  for (const args of [...COMMANDS, ['jobs', 'list', '--url', server.address, '--data', '.carillon']]) {
    const { code, stderr } = await runCarillon(args, { cwd: folder });
    expect(stderr).toContain('does not know the key of the folder .carillon');
    expect(stderr).toContain('carillon start');
    expect(code).not.toBe(0);
  }
  expect(JSON.stringify(seen)).not.toContain(await server.adminKey());
  expect(seen.filter(({ url }) => !url.startsWith('/health/proof?'))).toEqual([]);
});

describe('a program at the address of a folder', () => {
  test('that passes the question on to the server of the same key is not taken for it', async () => {
    const folder = makeTestFolder();
    const real = await launchServer({ name: 'real', folder, port: await fixedPort() }).ready();
    const port = await fixedPort();
    await writeFolder(folder, `http://127.0.0.1:${port}`, await real.adminKey());
    const seen = await listenInstead(port, async (request, response) => {
      const answer = await fetch(`${real.address}${request.url}`);
      json(response, (await answer.json()) as object, answer.status);
    });
    const { stderr } = await runCarillon(['jobs', 'list'], { cwd: folder });
    expect(stderr).toContain('does not know the key of the folder .carillon');
    expect(JSON.stringify(seen)).not.toContain(await real.adminKey());
    await real.stop(60_000);
  });

  test.each([
    { status: 401, body: { code: 'unauthorized', detail: 'The request carries no key.' } },
    { status: 404, body: { code: 'route_not_found', detail: 'There is nothing here.' } },
  ])(
    'that knows no such question ($status) gets no key: it may be an older server',
    async ({ status, body }) => {
      const folder = makeTestFolder();
      const port = await fixedPort();
      await writeFolder(folder, `http://127.0.0.1:${port}`);
      const seen = await listenInstead(port, (_request, response) => json(response, body, status));
      const { code, stderr } = await runCarillon(['jobs', 'list'], { cwd: folder });
      expect(stderr).toContain('cannot prove that it knows the key of the folder .carillon');
      expect(stderr).toContain('older');
      expect(code).not.toBe(0);
      expect(JSON.stringify(seen)).not.toContain(KEY);
    },
  );
});

describe('a program that knows the key of a folder, for it has written both', () => {
  const asServer = (address: string): Answering => {
    return (request, response) => {
      const nonce = new URL(request.url ?? '', address).searchParams.get('nonce');
      const signed = `carillon key proof\n${address}\n${nonce}`;
      json(response, { proof: createHmac('sha256', KEY).update(signed).digest('base64url') });
    };
  };

  test('gets nothing from a command in a cloned repository with that folder, also under umask 077', async () => {
    const folder = makeTestFolder();
    const port = await fixedPort();
    const address = `http://127.0.0.1:${port}`;
    await writeFolder(folder, address);
    const clone = await cloneOf(folder);
    const seen = await listenInstead(port, asServer(address));
    const input = 'a secret of my own';
    for (const args of [...COMMANDS, ['secrets', 'set', 'api-token'], ['login', '--name', 'ada']]) {
      const { code, stderr } = await runCarillon(args, { cwd: clone, input });
      expect(stderr).toContain('The folder .carillon was not made by a server in this place');
      expect(stderr).toContain('--trust-folder');
      expect(code).toBe(EXIT.failed);
    }
    expect(seen).toEqual([]);
    // Where the folder was made, or somebody says that it is theirs, it is believed.
    await runCarillon(['status'], { cwd: folder });
    expect(seen.length).toBeGreaterThan(0);
    const before = seen.length;
    await runCarillon(['status', '--data', '.carillon'], { cwd: clone });
    expect(seen.length).toBeGreaterThan(before);
  });
});
