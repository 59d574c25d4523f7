import { expect, test } from 'vitest';
import { signatureHeaders } from './sign-request.ts';

const parts = { runId: 'msg_p5jXN8AQM9LWM0D4loKWxJek', atMs: 1_614_265_330_999 };
const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');

test('a request is signed as Standard Webhooks describes it: the example of its specification', () => {
  const body = Buffer.from('{"test": 2432232314}');
  expect(signatureHeaders({ ...parts, body }, [secret])).toEqual({
    'webhook-id': parts.runId,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('every key signs, in order; without one nothing is added', () => {
  const { 'webhook-signature': both } = signatureHeaders({ ...parts, body: undefined }, [
    secret,
    Buffer.from('b'),
  ]);
  const { 'webhook-signature': first } = signatureHeaders({ ...parts, body: undefined }, [secret]);
  expect(both?.split(' ')).toEqual([first, expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/)]);
  expect(signatureHeaders({ ...parts, body: undefined }, [])).toEqual({});
});
