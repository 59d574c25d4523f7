/** What every adapter of the log store promises. */
import { randomUUID } from 'node:crypto';
import type { NodeId, RunId } from '@carillon/domain';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogBeginningGone, type LogKey, type LogStore } from './log-store.ts';

export function describeLogStore(name: string, make: () => Promise<LogStore>): void {
  describe(name, () => {
    let store: LogStore;
    beforeEach(async () => {
      store = await make();
    });
    afterEach(() => store.close());

    const newLog = (over: Partial<LogKey> = {}): LogKey => ({
      ...{ day: '2030-01-31', runId: randomUUID() as RunId, epoch: 1, ...over },
    });
    const write = (log: LogKey, at: { segment?: number; offset: number }, text: string) =>
      store.write(log, { segment: 0, ...at }, Buffer.from(text));
    const read = async (log: LogKey, segment = 0, from = segment, bytesMax = 1_000) =>
      Buffer.from(await store.read(log, { segment, from, bytesMax })).toString();

    it('what was written is read at once, in order', async () => {
      const log = newLog();
      await write(log, { offset: 0 }, 'one\n');
      expect(await read(log)).toBe('one\n');
      await write(log, { offset: 4 }, 'two\n');
      expect(await read(log)).toBe('one\ntwo\n');
      expect(await store.segments(log)).toEqual([{ start: 0, bytes: 8 }]);
    });

    it('a part of it is read by its position, and nothing after its end', async () => {
      const log = newLog();
      await write(log, { offset: 0 }, '0123456789');
      expect(await read(log, 0, 3, 4)).toBe('3456');
      expect(await read(log, 0, 8, 4)).toBe('89');
      expect(await read(log, 0, 10, 4)).toBe('');
    });

    it('a result is apart from the log of its attempt', async () => {
      const log = newLog();
      const result: LogKey = { ...log, part: 'result' };
      await write(log, { offset: 0 }, 'one\n');
      expect(await store.segments(result)).toEqual([]);
      await write(result, { offset: 0 }, '[1,');
      await write(result, { offset: 3 }, '2]');
      expect(await read(result)).toBe('[1,2]');
      expect(await read(log)).toBe('one\n');
      expect(await store.segments(result)).toEqual([{ start: 0, bytes: 5 }]);
      expect(await store.segments(log)).toEqual([{ start: 0, bytes: 4 }]);
    });

    it.each(['log', 'result', 'artifacts'] as const)(
      'hazard 43: a %s that begins anew has nothing of the one that had its name',
      async (part) => {
        const log = newLog(part === 'log' ? {} : { part });
        const other: LogKey = { ...log, epoch: 2 };
        await write(other, { offset: 0 }, 'other\n');
        await write(log, { offset: 0 }, 'old one\n');
        await write(log, { offset: 8 }, 'old two\n');
        await write(log, { segment: 100, offset: 100 }, 'old three\n');
        await write(log, { offset: 0 }, 'new\n');
        expect(await store.segments(log)).toEqual([{ start: 0, bytes: 4 }]);
        expect(await read(log)).toBe('new\n');
        expect(await read(other)).toBe('other\n');
      },
    );

    it('nothing is written after a beginning that was removed', async () => {
      const log = newLog();
      await write(log, { offset: 0 }, 'one\n');
      await store.dropSome({ beforeDay: '2030-02-01' });
      await expect(write(log, { offset: 4 }, 'two\n')).rejects.toThrow(LogBeginningGone);
      expect(await read(log)).toBe('');
    });

    it('the same written again changes nothing', async () => {
      const log = newLog();
      await write(log, { offset: 0 }, 'one\n');
      await write(log, { offset: 4 }, 'two\n');
      await write(log, { offset: 4 }, 'two\n');
      expect(await read(log)).toBe('one\ntwo\n');
    });

    it('segments are apart: one is dropped, the others stay', async () => {
      const log = newLog();
      await write(log, { offset: 0 }, 'head\n');
      await write(log, { segment: 5, offset: 5 }, 'middle\n');
      await write(log, { segment: 12, offset: 12 }, 'tail\n');
      await write(log, { segment: 12, offset: 17 }, 'end\n');
      await store.dropSegment(log, 5);
      await store.dropSegment(log, 5);
      expect(await store.segments(log)).toEqual([
        { start: 0, bytes: 5 },
        { start: 12, bytes: 9 },
      ]);
      expect(await read(log, 12, 17)).toBe('end\n');
      expect(await read(log, 5)).toBe('');
    });

    it('attempts of a run, and runs, are apart', async () => {
      const log = newLog();
      const later = { ...log, epoch: 12 };
      await write(log, { offset: 0 }, 'first\n');
      await write(later, { offset: 0 }, 'second\n');
      expect(await read(log)).toBe('first\n');
      expect(await read(later)).toBe('second\n');
      expect(await store.segments(newLog())).toEqual([]);
      expect(await read(newLog())).toBe('');
    });

    it.each(['log', 'result'] as const)(
      'the %s that several servers write of one attempt is apart',
      async (part) => {
        const log = newLog(part === 'log' ? {} : { part });
        const [one, other] = [1, 2].map(() => ({ ...log, writer: randomUUID() as NodeId }));
        await write(one!, { offset: 0 }, 'of one\n');
        await write(other!, { offset: 0 }, 'of the other\n');
        await write(other!, { segment: 13, offset: 13 }, 'more\n');
        expect(await store.segments(one!)).toEqual([{ start: 0, bytes: 7 }]);
        expect(await read(one!)).toBe('of one\n');
        expect(await read(other!)).toBe('of the other\n');
        expect(await read(other!, 13)).toBe('more\n');
        expect(await store.segments(log)).toEqual([]);
      },
    );

    it('old days are dropped in steps, later ones stay', async () => {
      const [old, older, kept] = [
        newLog({ day: '2030-01-01' }),
        newLog({ day: '2029-12-31' }),
        newLog({ day: '2030-01-02' }),
      ];
      for (const log of [old, older, kept]) await write(log, { offset: 0 }, 'x\n');
      let steps = 0;
      while (await store.dropSome({ beforeDay: '2030-01-02' })) {
        steps += 1;
        expect(steps).toBeLessThan(100);
      }
      expect(await store.segments(old)).toEqual([]);
      expect(await store.segments(older)).toEqual([]);
      expect(await read(kept)).toBe('x\n');
    });
  });
}
