/** Files of runs over HTTP and RPC: listed, and read without any browser showing them as a page. */
import type { NodeId, RunId } from '@carillon/domain';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../storage/conformance/sample-job.ts';
import { GatewayFixture, KEY } from './gateway.fixture.ts';

let gateway: GatewayFixture;
let runId: RunId;

beforeEach(async () => {
  gateway = new GatewayFixture();
  runId = (await gateway.createdId({ name: 'reports', schedule_type: 'IMMEDIATE' })) as unknown as RunId;
});
afterEach(() => gateway.app.close());

const AGAIN = (atMs: number) => ({ kind: 'again', atMs, attempt: 2, crashes: 0 }) as const;
const FINISH = { status: 'SUCCESS', next: { kind: 'finish' } } as const;

async function get(path: string, method: 'GET' | 'HEAD' = 'GET') {
  const url = `/api/runs/${runId}/artifacts${path}`;
  return gateway.app.inject({ method, url, headers: { authorization: `Bearer ${KEY}` } });
}

describe('files of a run', () => {
  test('are listed, the latest attempt first, and read by name', async () => {
    const first = await gateway.claimDue();
    await gateway.leaveArtifact(first, { content: 'first\n' });
    await gateway.settle(first, { status: 'FAILED', error: 'boom', next: AGAIN(gateway.clock.now()) });
    const second = await gateway.claimDue();
    await gateway.leaveArtifact(second, { content: 'second, longer\n' });
    await gateway.settle(second, FINISH);
    const created = new Date(second.claimedAtMs).toISOString();
    expect((await get('')).json()).toEqual([
      { name: 'report.txt', bytes: 15, attempt: 2, created_at: created },
      { name: 'report.txt', bytes: 6, attempt: 1, created_at: new Date(first.claimedAtMs).toISOString() },
    ]);
    expect((await get('/report.txt')).body).toBe('second, longer\n');
    expect((await get('/report.txt?attempt=1')).body).toBe('first\n');
    expect((await get('/report.txt?attempt=3')).json()).toMatchObject({ code: 'artifact_not_found' });
    expect((await get('/report.txt?attempt=x')).statusCode).toBe(400);
  });

  test.each(['<b>"\'.html', 'Übersicht 2030.csv', '%2e%2e', 'é'.repeat(200)])(
    'called %s are saved, never shown',
    async (name) => {
      const batch = await gateway.claimDue();
      await gateway.leaveArtifact(batch, { name, content: '<script>alert(1)</script>' });
      await gateway.settle(batch, FINISH);
      const path = `/${encodeURIComponent(name)}`;
      const { statusCode, headers, body } = await get(path);
      expect([statusCode, body]).toEqual([200, '<script>alert(1)</script>']);
      expect(headers).toMatchObject({
        'content-type': 'application/octet-stream',
        'content-length': '25',
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; sandbox",
      });
      const [, spelled] = /^attachment; filename\*=UTF-8''([\w.%~!-]+)$/.exec(
        String(headers['content-disposition']),
      )!;
      expect(decodeURIComponent(spelled!)).toBe(name);
      const head = await get(path, 'HEAD');
      expect([head.statusCode, head.body]).toEqual([200, '']);
    },
  );

  test('that are none are an empty list, and no name leads anywhere else', async () => {
    await gateway.settle(await gateway.claimDue(), FINISH);
    expect((await get('')).json()).toEqual([]);
    for (const name of ['report.txt', '..%2f1.log', '%2fetc%2fpasswd', 'a%00b'])
      expect((await get(`/${name}`)).statusCode, name).toBe(404);
  });

  test('in a folder of a server that nobody reaches are refused with the reason', async () => {
    const batch = await gateway.claimDue();
    await gateway.leaveArtifact(batch, { nodeId: newId<NodeId>() });
    await gateway.settle(batch, FINISH);
    for (const path of ['', '/report.txt'])
      expect((await get(path)).json()).toMatchObject({ code: 'log_elsewhere' });
  });
});
