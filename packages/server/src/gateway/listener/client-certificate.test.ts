import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientCertificatesOf, requireClientCertificate } from './client-certificate.ts';
import { createListener } from './create-listener.ts';
import { readCertificate } from './read-certificate.ts';
import { makeCertificate } from './test-certificate.fixture.ts';

const files = makeCertificate();
const stranger = makeCertificate();
const THREE_DAYS_MS = 3 * 86_400_000;
let nowMs = Date.now();
let server: Server;
let port: number;

beforeAll(async () => {
  // Signed by itself, it is its own authority.
  const tls = await readCertificate({ ...files, clientCaFile: files.certFile });
  server = createListener({ tls }).serverFactory(({ socket }, response) => {
    try {
      requireClientCertificate(socket, { mode: 'required', nowMs });
      response.end('let in');
    } catch (error) {
      response.end((error as Error).message);
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  ({ port } = server.address() as AddressInfo);
});
afterAll(async () => {
  await new Promise((done) => server.close(done));
  files.remove();
  stranger.remove();
});

interface Answer {
  readonly text: string;
  readonly session: Buffer | undefined;
  readonly isResumed: boolean;
}

function ask(from?: { certFile: string; keyFile: string }, session?: Buffer): Promise<Answer> {
  const own = from && { cert: readFileSync(from.certFile), key: readFileSync(from.keyFile) };
  const options = {
    port,
    host: 'localhost',
    ca: readFileSync(files.certFile),
    agent: false,
    ...own,
    session,
  };
  return new Promise((resolve, reject) => {
    let ticket: Buffer | undefined;
    const asked = request(options, (answer) => {
      let text = '';
      const isResumed = (answer.socket as TLSSocket).isSessionReused();
      answer.on('data', (chunk) => {
        text += chunk;
      });
      answer.once('end', () => resolve({ text, session: ticket, isResumed }));
    });
    const keep = (given: Buffer) => {
      ticket = given;
    };
    asked.on('socket', (socket) => socket.on('session', keep));
    asked.once('error', reject).end();
  });
}

test('a certificate of a known authority is let in, none and those of strangers are not', async () => {
  expect((await ask(files)).text).toBe('let in');
  expect((await ask()).text).toMatch(/none was sent/);
  expect((await ask(stranger)).text).toMatch(/not by an authority that this server knows/);
});

test('a certificate that expires is refused from then on, also in a TLS session that goes on', async () => {
  const { session } = await ask(files);
  expect(session).toBeDefined();
  expect(await ask(files, session)).toMatchObject({ text: 'let in', isResumed: true });
  nowMs += THREE_DAYS_MS;
  expect((await ask(files)).text).toMatch(/\(CN=localhost\) has expired/);
  expect(await ask(files, session)).toMatchObject({
    text: expect.stringMatching(/has expired/),
    isResumed: true,
  });
});

test('an authority is required where it is named, unless the settings say otherwise', () => {
  expect(clientCertificatesOf({})).toBeUndefined();
  expect(clientCertificatesOf({ client_ca_file: 'ca.pem' })).toBe('required');
  expect(clientCertificatesOf({ client_ca_file: 'ca.pem', client_certificate: 'optional' })).toBe('optional');
});

test('a file of authorities without a certificate is told by its setting', async () => {
  const read = readCertificate({ ...files, clientCaFile: files.keyFile });
  await expect(read).rejects.toThrow(/^tls\.client_ca_file \(.*key\.pem\) holds no PEM certificate/);
});
