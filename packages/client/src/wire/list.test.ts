import { expect, test } from 'vitest';
import { Carillon } from '../carillon.ts';
import { json, scriptedServer } from '../scripted-server.fixture.ts';
import { nextQuery } from './list.ts';

const page = (ids: number[], next?: string) =>
  json(
    200,
    ids.map((id) => ({ job_id: String(id) })),
    next ? { link: `<http://elsewhere/api/jobs?${next}>; rel="next"` } : {},
  );

test('a list is walked over all its pages, at the address of the client', async () => {
  const { url, asked } = await scriptedServer(page([1, 2], 'after=2&limit=2&label=a&label=b'), page([3]));
  const seen: string[] = [];
  for await (const job of new Carillon({ url }).jobs.list({ limit: 2 })) seen.push(job.job_id);
  expect(seen).toEqual(['1', '2', '3']);
  expect(asked.map(({ path }) => path)).toEqual([
    '/api/jobs?limit=2',
    '/api/jobs?after=2&limit=2&label=a&label=b',
  ]);
});

test('a page is asked for when somebody gets there, and not before', async () => {
  const { url, asked } = await scriptedServer(page([1, 2], 'after=2'), page([3]));
  const list = new Carillon({ url }).jobs.list();
  expect(asked).toHaveLength(0);
  expect(await list.toArray({ max: 2 })).toHaveLength(2);
  expect(asked).toHaveLength(1);
});

test('one page says whether there are more', async () => {
  const { url } = await scriptedServer(page([1, 2], 'after=2'), page([3]));
  const list = new Carillon({ url }).jobs.list();
  expect(await list.page()).toMatchObject({ hasMore: true });
  expect(await list.page()).toMatchObject({ hasMore: false });
});

test('a list goes on from the cursor of a page, with the filters of that page, in another client', async () => {
  const { url, asked } = await scriptedServer(
    page([1, 2], 'cursor=b%2B2&limit=2&label=a&label=b'),
    page([3]),
  );
  const { items, cursor = '' } = await new Carillon({ url }).jobs
    .list({ label: ['a', 'b'], limit: 2 })
    .page();
  expect(items).toHaveLength(2);
  const rest = new Carillon({ url }).jobs.list().from(cursor);
  const { cursor: last, hasMore } = await rest.page();
  expect(asked[1]?.path).toBe('/api/jobs?cursor=b%2B2&limit=2&label=a&label=b');
  expect({ last, hasMore }).toEqual({ last: undefined, hasMore: false });
});

test('a list that grows tells where it will go on, also when it has ended for now', async () => {
  const { url } = await scriptedServer(page([1], 'last_event_id=7'), page([], 'last_event_id=7'));
  const cursors: (string | undefined)[] = [];
  for await (const { cursor, hasMore } of new Carillon({ url }).events.list().pages())
    cursors.push(`${cursor} ${hasMore}`);
  expect(cursors).toEqual(['last_event_id=7 true', 'last_event_id=7 false']);
});

test('a list that links to the place it came from has ended', async () => {
  const { url, asked } = await scriptedServer(page([1], 'last_event_id=7'), page([], 'last_event_id=7'));
  expect(await new Carillon({ url }).jobs.list().toArray()).toHaveLength(1);
  expect(asked).toHaveLength(2);
});

test('several statuses are one word, several labels several', async () => {
  const { url, asked } = await scriptedServer(page([]));
  await new Carillon({ url }).jobs.list({ status: ['paused', 'failed'], label: ['a:1', 'b:2'] }).toArray();
  expect(asked[0]?.path).toBe('/api/jobs?status=paused%2Cfailed&label=a%3A1&label=b%3A2');
});

test.each([
  [null, undefined],
  ['</api/jobs?page=1>; rel="prev"', undefined],
  ['</api/jobs?page=1>; rel="prev", </api/jobs?page=3>; rel="next"', { page: ['3'] }],
])('the next page is read from %s', (link, query) => {
  expect(nextQuery(link)).toEqual(query);
});
