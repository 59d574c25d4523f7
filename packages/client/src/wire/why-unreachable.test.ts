import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { whyUnreachable } from './why-unreachable.ts';

const because = (code: string, message = '') =>
  whyUnreachable(
    Object.assign(new Error('fetch failed'), { cause: Object.assign(new Error(message), { code }) }),
  );

test.each([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', /authority/, /NODE_EXTRA_CA_CERTS/],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /authority/, /NODE_EXTRA_CA_CERTS/],
  ['CERT_HAS_EXPIRED', /expired/, /renewed/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', /another name/, /that it holds/],
  ['ECONNREFUSED', /nothing listens/, /server runs/],
  ['ENOTFOUND', /no machine/, /address/],
])('%s is told in words', (code, reason, fix) => {
  expect(because(code)).toEqual({
    reason: expect.stringMatching(reason),
    fix: expect.stringMatching(fix),
  });
});

test('what is not known is told as it came, on one line', () => {
  expect(because('EODD', 'odd\nand long').reason).toBe('odd');
  expect(whyUnreachable(new Error('broken')).reason).toBe('broken');
});

test('a port that fetch keeps away from is explained', async () => {
  const error: unknown = await fetch('http://127.0.0.1:1').catch((thrown: unknown) => thrown);
  expect(whyUnreachable(error)).toEqual({
    reason: expect.stringContaining('another protocol'),
    fix: expect.stringContaining('7420'),
  });
});

test('TLS spoken to a server without it is told apart from a server that is not there', async () => {
  const server = createServer((_request, response) => response.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const error: unknown = await fetch(`https://127.0.0.1:${port}`).catch((thrown: unknown) => thrown);
  expect(whyUnreachable(error).reason).toBe('it does not speak TLS');
});
