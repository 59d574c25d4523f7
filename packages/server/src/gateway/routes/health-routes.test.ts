import { ManualClock } from '@carillon/foundation';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Readiness } from './health-routes.ts';
import { SHARED_MS, sharedReadiness } from './health-routes.ts';

const READY: Readiness = { ready: true, reasons: [] };

let clock: ManualClock;
let questions: PromiseWithResolvers<Readiness>[];
let readiness: () => Promise<Readiness>;

beforeEach(() => {
  clock = new ManualClock(Date.UTC(2030, 0, 1));
  questions = [];
  const ask = () => {
    const question = Promise.withResolvers<Readiness>();
    questions.push(question);
    return question.promise;
  };
  readiness = sharedReadiness(ask, { clock });
});

describe('questions about readiness', () => {
  test('that come together are one question, however long it takes', async () => {
    const first = readiness();
    clock.advance(10 * SHARED_MS);
    const second = readiness();
    expect(questions).toHaveLength(1);
    questions[0]!.resolve(READY);
    expect(await Promise.all([first, second])).toEqual([READY, READY]);
  });

  test('within a second get the same answer, and a new one after it', async () => {
    const first = readiness();
    questions[0]!.resolve(READY);
    await first;
    clock.advance(SHARED_MS - 1);
    expect(await readiness()).toBe(READY);
    expect(questions).toHaveLength(1);
    clock.advance(1);
    const later = readiness();
    expect(questions).toHaveLength(2);
    questions[1]!.resolve({ ready: false, reasons: ['away'] });
    expect((await later).ready).toBe(false);
  });

  test('that fail are not asked again at once either', async () => {
    const first = readiness();
    questions[0]!.reject(new Error('away'));
    await expect(first).rejects.toThrow('away');
    await expect(readiness()).rejects.toThrow('away');
    clock.advance(SHARED_MS);
    void readiness();
    expect(questions).toHaveLength(2);
  });
});
