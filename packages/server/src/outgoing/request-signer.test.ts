import { createHmac } from 'node:crypto';
import type { ClaimedBatch, ClaimedRun, JobId, LeaseId, RunId, WorkerId } from '@carillon/domain';
import { ManualClock } from '@carillon/foundation';
import { protocol } from '@carillon/worker';
import { expect, test } from 'vitest';
import { RequestSigner } from './request-signer.ts';

const START_MS = Date.UTC(2030, 0, 1);
const REMOTE = 'remote' as WorkerId;
const KEYS: Readonly<Record<string, readonly string[]>> = {
  team: ['old', 'new'],
  other: ['third'],
  bare: [],
};

const run = (position: number, over: Partial<ClaimedRun> = {}): ClaimedRun => ({
  ...{ leaseId: 'lease' as LeaseId, position, leaseSize: 9, jobId: 'job' as JobId },
  ...{ runId: `run-${position}` as RunId, epoch: 1, attempt: 1, nominalAtMs: 0, dueAtMs: 0, claimedAtMs: 0 },
  ...{ handler: 'http', timeoutMs: 1_000, limited: false, namespace: 'team' },
  ...{ payload: '{"url":"https://example.org/","body":"hello"}', ...over },
});
const batch = (runs: readonly ClaimedRun[], workerId = REMOTE): ClaimedBatch => ({
  ...{ leaseId: 'lease' as LeaseId, workerId, claimedAtMs: 0, runs },
});

function signer(of: (namespace: string) => Promise<readonly Uint8Array[]>): RequestSigner {
  const clock = new ManualClock(START_MS);
  return new RequestSigner({ secrets: { of }, clock, isRemote: (workerId) => workerId === REMOTE });
}
const known = signer(async (namespace) => (KEYS[namespace] ?? []).map((text) => Buffer.from(text)));

const hmac = (key: string, runId: string, body: string) =>
  `v1,${createHmac('sha256', key)
    .update(`${runId}.${START_MS / 1_000}.${body}`)
    .digest('base64')}`;

test('a request is signed by every key of its own namespace, over the body that is sent', async () => {
  const { runs } = await known.resolve(
    batch([
      run(0),
      run(1, { namespace: 'other', payload: '{"url":"https://example.org/"}' }),
      run(2, { namespace: 'bare' }),
    ]),
  );
  expect(runs.map(({ signature }) => signature?.['webhook-signature'])).toEqual([
    `${hmac('old', 'run-0', 'hello')} ${hmac('new', 'run-0', 'hello')}`,
    hmac('third', 'run-1', ''),
    undefined,
  ]);
  expect(runs[0]?.signature).toMatchObject({
    'webhook-id': 'run-0',
    'webhook-timestamp': `${START_MS / 1_000}`,
  });
});

test('what is sent to the worker holds signatures and no key, and only for runs of the handler http', async () => {
  const { runs } = await known.resolve(
    batch([run(0), run(1, { handler: 'script' }), run(2, { handler: 'own' })]),
  );
  const [assign] = protocol.assignsOf(batch(runs));
  const signed = assign!.message.extras.map(({ signature }) => Object.keys(signature).length);
  expect(signed).toEqual([3, 0, 0]);
  const back = protocol.batchOf(assign!.message, REMOTE);
  expect(back.runs.map(({ signature }) => signature)).toEqual(runs.map(({ signature }) => signature));
  const sent = JSON.stringify(assign!.message, (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  for (const key of ['old', 'new'])
    for (const form of ['base64', 'hex', 'utf8'] as const)
      expect(sent).not.toContain(`"${Buffer.from(key).toString(form)}"`);
});

test('nothing is signed ahead for the worker of this process, nor for one without http', () => {
  expect(known.concerns(batch([run(0)], 'here' as WorkerId))).toBe(false);
  expect(known.concerns(batch([run(0, { handler: 'script' }), run(1, { namespace: undefined })]))).toBe(
    false,
  );
  expect(known.concerns(batch([run(0, { handler: 'script' }), run(1)]))).toBe(true);
});

test('what cannot be signed is not sent; the other runs of its batch are', async () => {
  const away = signer(async (namespace) => {
    if (namespace === 'team') throw new Error('the database is away');
    return [Buffer.from('third')];
  });
  const { runs } = await away.resolve(
    batch([run(0), run(1, { namespace: 'other' }), run(2, { handler: 'script' })]),
  );
  expect(runs[0]).toMatchObject({
    payload: '{}',
    failure: {
      kind: 'FAILED',
      retryable: true,
      error: expect.stringMatching(/^the request could not be signed/),
    },
  });
  expect(runs[1]?.signature).toBeDefined();
  expect(runs[2]).toEqual(run(2, { handler: 'script' }));
  const { runs: unread } = await known.resolve(batch([run(0, { payload: '{"url":"ftp://example.org/"}' })]));
  expect(unread[0]).toMatchObject({ failure: { kind: 'FAILED', retryable: false } });
});
