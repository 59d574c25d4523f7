/** Lists that are cut say so, also those that the server answers in one piece. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Carillon } from '@carillon/client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Output } from '../output/output.ts';
import { pageSize, readLimited } from './actions.ts';

let starts: number;
/** Answers as many as there are, up to the limit, and links to nothing. */
const server = createServer(({ url = '' }, reply) => {
  const limit = Number(new URL(url, 'http://here').searchParams.get('limit'));
  const body = Array.from({ length: Math.min(starts, limit) }, (_, i) => ({ job_id: String(i) }));
  reply.setHeader('content-type', 'application/json').end(JSON.stringify(body));
});

beforeEach(() => new Promise<void>((done) => server.listen(0, '127.0.0.1', done)));
afterEach(() => new Promise<unknown>((done) => server.close(done)));

async function shown(limit: number) {
  const notes: string[] = [];
  const out = { note: (text: string) => notes.push(text) } as unknown as Output;
  const { port } = server.address() as AddressInfo;
  const client = new Carillon({ url: `http://127.0.0.1:${port}` });
  const found = await readLimited(client.jobs.upcoming({ limit: pageSize(limit) }), limit, out);
  return { found: found.length, notes };
}

test('a list without pages says that there are more than it shows', async () => {
  starts = 51;
  expect(await shown(50)).toEqual({ found: 50, notes: ['There are more: -n 100, or -n 0 for all.'] });
  starts = 50;
  expect(await shown(50)).toEqual({ found: 50, notes: [] });
});

test('a list without pages that is as long as an answer can be may have more', async () => {
  starts = 3_000;
  const notes = ['There may be more: the server lists at most 1000 of these at once.'];
  expect(await shown(0)).toEqual({ found: 1_000, notes });
  expect(await shown(2_000)).toEqual({ found: 1_000, notes });
  starts = 999;
  expect(await shown(0)).toEqual({ found: 999, notes: [] });
});
