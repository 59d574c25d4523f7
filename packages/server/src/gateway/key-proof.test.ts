/** A server shows that it knows its admin key, in every role, and tells nothing of it. */
import { describe, expect, test } from 'vitest';
import { keyProof, newToken } from '../accounts/secrets.ts';
import { GatewayFixture, KEY } from './gateway.fixture.ts';

const address = 'http://127.0.0.1:7420';
const proveKey = (nonce: string) => keyProof(KEY, { address, nonce });

describe.each([
  { role: 'all' },
  { role: 'health only', healthOnly: true },
  { role: 'reads', served: 'reads' as const },
])('a server of $role', ({ role: _, ...options }) => {
  test('proves its key to everybody, for its address and this question alone', async () => {
    const gateway = new GatewayFixture({ ...options, announced: () => address });
    const nonce = newToken();
    const { status, headers, body } = await gateway.askAs({}, 'GET', `/health/proof?nonce=${nonce}`);
    expect({ status, body }).toEqual({ status: 200, body: { proof: proveKey(nonce) } });
    expect(headers['cache-control']).toBe('no-store');
    for (const other of [
      keyProof(KEY, { address, nonce: newToken() }),
      keyProof(KEY, { address: 'http://127.0.0.1:7421', nonce }),
      keyProof(`${KEY}x`, { address, nonce }),
    ])
      expect(body.proof).not.toBe(other);
  });

  test.each([
    '',
    '?nonce=',
    '?nonce=short',
    `?nonce=${'a'.repeat(44)}`,
    `?nonce=${newToken()}&nonce=${newToken()}`,
  ])('refuses the question %j', async (query) => {
    const gateway = new GatewayFixture({ ...options, announced: () => address });
    const { status, body } = await gateway.askAs({}, 'GET', `/health/proof${query}`);
    expect({ status, code: body.code, field: body.field }).toEqual({
      status: 400,
      code: 'field_invalid',
      field: 'nonce',
    });
  });
});
