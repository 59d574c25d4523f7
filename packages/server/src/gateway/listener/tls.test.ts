import { readFileSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { get } from 'node:https';
import { connect as connectTls } from 'node:tls';
import { rpc } from '@carillon/contract';
import { ManualClock, SeededRandom, silentLog } from '@carillon/foundation';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../../../../tests/support/eventually.ts';
import { KEY, RpcFixture } from '../rpc/rpc.fixture.ts';
import { CertificateWatch } from './certificate-watch.ts';
import { type Certificate, CertificateUnusable, readCertificate } from './read-certificate.ts';
import { originOf, redirectToHttps } from './redirect-to-https.ts';
import { makeCertificate } from './test-certificate.fixture.ts';

const files = makeCertificate();
const other = makeCertificate();
let certificate: Certificate;
let gateway: RpcFixture | undefined;
beforeAll(async () => {
  certificate = await readCertificate(files);
});
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
});
afterAll(() => {
  files.remove();
  other.remove();
});

const start = async () => {
  gateway = await RpcFixture.start({ tls: certificate });
  return `https://localhost:${gateway.port}`;
};

describe('under TLS', () => {
  test('HTTP/1.1, HTTP/2 and gRPC are served on one port', async () => {
    const address = await start();
    const ca = certificate.cert;
    const status = await new Promise((resolve, reject) => {
      get(`${address}/plain`, { ca, agent: false }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      }).once('error', reject);
    });
    expect(status).toBe(200);

    const session = connectHttp2(address, { ca });
    const request = session.request({ ':path': '/plain' });
    const answered = new Promise((resolve) => request.once('response', (head) => resolve(head[':status'])));
    request.resume();
    expect(await answered).toBe(200);
    session.close();

    const transport = createGrpcTransport({ baseUrl: address, nodeOptions: { ca } });
    const headers = { authorization: `Bearer ${KEY}` };
    expect(await createClient(rpc.JobService, transport).listJobs({}, { headers })).toMatchObject({
      jobs: [],
    });
  });

  test('what speaks without TLS gets nothing', async () => {
    const address = await start();
    await expect(fetch(`${address.replace('https', 'http')}/plain`)).rejects.toThrow();
  });

  test('a stop cuts a connection that shakes no hands, and one that is idle', async () => {
    await start();
    const { port, listener } = gateway!;
    const idle = connectTls({ port, host: 'localhost', ca: certificate.cert });
    await new Promise((resolve) => idle.once('secureConnect', resolve));
    const { connect } = await import('node:net');
    const silent = connect(port, '127.0.0.1');
    silent.on('error', () => undefined);
    await new Promise((resolve) => silent.once('connect', resolve));
    await eventually(() => expect(listener.connections.size).toBe(2), { withinMs: 60_000 });
    const gone = Promise.all(
      [idle, silent].map((socket) => new Promise((done) => socket.once('close', done))),
    );
    idle.resume();
    silent.resume();
    await gateway!.stop();
    await gone;
  });

  test('a renewed certificate is taken up by new connections, a broken one is not', async () => {
    await start();
    const renewing = makeCertificate();
    const complaints: string[] = [];
    const watch = new CertificateWatch({
      files: renewing,
      current: await readCertificate(renewing),
      onRenewed: (renewed) => gateway!.listener.replaceCertificate(renewed),
      clock: new ManualClock(),
      random: new SeededRandom(1),
      log: { ...silentLog, error: (_facts, message) => void complaints.push(message) },
    });
    const before = await shownCertificate(gateway!.port);
    await watch.runOnce();
    expect(await shownCertificate(gateway!.port)).toBe(before);
    renewing.renew();
    await watch.runOnce();
    const renewed = await shownCertificate(gateway!.port);
    expect(renewed).not.toBe(before);
    writeFileSync(renewing.keyFile, 'half written');
    await watch.runOnce();
    await watch.runOnce();
    expect(complaints).toEqual(['the certificate files changed and cannot be used; the old one stays']);
    expect(await shownCertificate(gateway!.port)).toBe(renewed);
    renewing.remove();
  });
});

describe('certificate files', () => {
  const complaintOf = (certFile: string, keyFile: string) =>
    readCertificate({ certFile, keyFile }).then(
      () => 'none',
      (error: unknown) => (error instanceof CertificateUnusable ? error.message : String(error)),
    );

  test('that are missing, no PEM, or do not belong together are told by name', async () => {
    expect(await complaintOf('/nowhere/cert.pem', files.keyFile)).toBe(
      'tls.cert_file (/nowhere/cert.pem) cannot be read (ENOENT)',
    );
    expect(await complaintOf(files.certFile, '/nowhere/key.pem')).toBe(
      'tls.key_file (/nowhere/key.pem) cannot be read (ENOENT)',
    );
    expect(await complaintOf(files.keyFile, files.keyFile)).toMatch(/holds no PEM certificate/);
    expect(await complaintOf(files.certFile, files.certFile)).toMatch(/holds no PEM private key/);
    expect(await complaintOf(files.certFile, other.keyFile)).toBe(
      `the key in ${other.keyFile} does not belong to the certificate in ${files.certFile}`,
    );
    expect(await complaintOf(files.certFile, files.keyFile)).toBe('none');
  });

  test('are read as they stand', async () => {
    expect(certificate.cert).toBe(readFileSync(files.certFile, 'utf8'));
  });
});

describe('plain HTTP', () => {
  test('is sent on to https with the same path, and nothing else', async () => {
    const redirect = await redirectToHttps({
      ...{ host: '127.0.0.1', port: 0 },
      to: { publicUrl: undefined, port: 7420 },
    });
    const address = `http://127.0.0.1:${redirect.port}`;
    const answer = await fetch(`${address}/api/jobs?limit=1`, { redirect: 'manual', method: 'POST' });
    expect(answer.status).toBe(308);
    expect(answer.headers.get('location')).toBe('https://127.0.0.1:7420/api/jobs?limit=1');
    await redirect.close();
  });

  test.each([
    ['Bearer ck_abc123_secretsecret', 'authorization', { kind: 'key', keyPrefix: 'ck_abc123' }],
    ['Bearer of-an-admin', 'authorization', { kind: 'key', keyPrefix: undefined }],
    ['Basic YWRhOnBhc3N3b3Jk', 'authorization', { kind: 'password', keyPrefix: undefined }],
    ['x=1; __Host-carillon_session=abc', 'cookie', { kind: 'session', keyPrefix: undefined }],
  ])('with a credential (%s) is refused and reported', async (value, header, expected) => {
    const seen: object[] = [];
    const redirect = await redirectToHttps({
      ...{ host: '127.0.0.1', port: 0, onCredential: (facts) => void seen.push(facts) },
      to: { publicUrl: undefined, port: 7420 },
    });
    const url = `http://127.0.0.1:${redirect.port}/api/jobs`;
    const answer = await fetch(url, { redirect: 'manual', headers: { [header]: value } });
    expect(answer.status).toBe(403);
    expect(answer.headers.get('location')).toBeNull();
    expect(await answer.json()).toMatchObject({ code: 'credential_in_clear' });
    expect(seen).toEqual([{ ...expected, address: '127.0.0.1' }]);
    expect(JSON.stringify(seen)).not.toContain('secretsecret');
    await redirect.close();
  });

  test.each([
    ['example.com', undefined, 443, 'https://example.com'],
    ['example.com:80', undefined, 7420, 'https://example.com:7420'],
    ['[::1]:80', undefined, 7420, 'https://[::1]:7420'],
    ['evil.example/path', undefined, 443, undefined],
    ['user@evil.example', undefined, 443, undefined],
    ['', undefined, 443, undefined],
    ['whatever', 'https://carillon.example/', 443, 'https://carillon.example'],
  ])('of %j is sent to %s', (asked, publicUrl, port, origin) => {
    expect(originOf(asked, { publicUrl, port })).toBe(origin);
  });
});

function shownCertificate(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: 'localhost', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.once('error', reject);
  });
}
