import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CarillonEvent } from './generated/types.ts';
import { latestEvents, type ReadPage } from './latest-events.ts';

const END = 40_000;

/** Reads as the server does: forward only, in short pages, with a gap before what is no longer kept. */
function serverOf(transactions: readonly number[]): { read: ReadPage; reads: () => number } {
  let reads = 0;
  const all = [...transactions].sort((a, b) => a - b).map((xid, i) => eventAt(xid, i + 1));
  const read: ReadPage = async (lastEventId, limit) => {
    reads += 1;
    const after = Number(lastEventId.split('-')[0]);
    const row = Number(lastEventId.split('-')[1]);
    if (after > END) return { events: [gap(lastEventId)], through: `${END}-999` };
    const events = all
      .filter(({ id }) => Number(id.split('-')[0]) > after || (id.startsWith(`${after}-`) && rowOf(id) > row))
      .slice(0, Math.min(limit, 3));
    const isTooOld = after > 0 && all[0] !== undefined && after < Number(all[0].id.split('-')[0]);
    return {
      events: isTooOld ? [gap(lastEventId), ...events] : events,
      through: events.at(-1)?.id ?? lastEventId,
    };
  };
  return { read, reads: () => reads };
}

const rowOf = (id: string) => Number(id.split('-')[1]);

function eventAt(xid: number, row: number): CarillonEvent {
  const time = new Date(xid * 1_000).toISOString();
  const type = 'io.carillon.job.created';
  return {
    specversion: '1.0',
    id: `${xid}-${row}-0`,
    type,
    source: 'carillon',
    time,
    datacontenttype: '',
    data: {},
  };
}

function gap(after: string): CarillonEvent {
  return { ...eventAt(0, 0), id: `gap-${after}`, type: 'io.carillon.gap' };
}

const transactions = fc.array(fc.integer({ min: 5, max: END }), { maxLength: 40 });

test('the newest come, oldest of them first, wherever in the order they stand', async () => {
  await fc.assert(
    fc.asyncProperty(transactions, fc.integer({ min: 1, max: 30 }), async (given, count) => {
      const { events, hasMore } = await latestEvents(serverOf(given).read, { count });
      const expected = [...given].sort((a, b) => a - b).slice(-count);
      expect(events.map(({ id }) => Number(id.split('-')[0]))).toEqual(expected);
      expect(hasMore).toBe(given.length > count);
    }),
  );
});

test('none is older than asked for', async () => {
  await fc.assert(
    fc.asyncProperty(transactions, fc.integer({ min: 0, max: END }), async (given, since) => {
      const { events } = await latestEvents(serverOf(given).read, { count: 100, sinceMs: since * 1_000 });
      const expected = [...given].sort((a, b) => a - b).filter((xid) => xid >= since);
      expect(events.map(({ id }) => Number(id.split('-')[0]))).toEqual(expected);
    }),
  );
});

test('looking for what is rare ends after a while, and says that there may be more', async () => {
  let reads = 0;
  const { events, hasMore } = await latestEvents(
    async (after) => {
      reads += 1;
      const [transaction] = after.split('-');
      return { events: [], through: reads === 1 ? '900000000-0' : `${Number(transaction) + 1}-0` };
    },
    { count: 5 },
  );
  expect({ events, hasMore }).toEqual({ events: [], hasMore: true });
  expect(reads).toBeLessThan(300);
});

test('a long past is not read for a few', async () => {
  const { read, reads } = serverOf(Array.from({ length: END }, (_, i) => i + 1));
  const { events, lastEventId } = await latestEvents(read, { count: 5 });
  expect(events.at(-1)?.id).toBe(`${END}-${END}-0`);
  expect(lastEventId).toBe(`${END}-999`);
  expect(reads()).toBeLessThan(20);
});
