import { type Log, ManualClock, silentLog } from '@carillon/foundation';
import { beforeEach, expect, test } from 'vitest';
import { OutageWatch } from './outage-watch.ts';

let clock: ManualClock;
let said: [level: string, facts: object, text: string][];
let watch: OutageWatch;

beforeEach(() => {
  clock = new ManualClock(0);
  said = [];
  const say = (level: string) => (facts: object, text: string) => void said.push([level, facts, text]);
  const log = { ...silentLog, warn: say('warn'), info: say('info') } as Log;
  watch = new OutageWatch({ clock, log });
});

test('an outage is told when it begins, every half minute, and when it is over', () => {
  for (let second = 0; second < 70; second += 1) {
    for (let statements = 0; statements < 100; statements += 1) watch.failed(new Error('connection refused'));
    clock.advance(1_000);
  }
  watch.answered();
  watch.answered();
  const away = 'the database cannot be used; what needs it is tried again';
  expect(said).toEqual([
    ['warn', { reason: 'connection refused', failures: 1 }, away],
    ['warn', { reason: 'connection refused', failures: 3_001 }, away],
    ['warn', { reason: 'connection refused', failures: 6_001 }, away],
    ['info', { lastedMs: 70_000, failures: 7_000 }, 'the database can be used again'],
  ]);
});

test('one that comes and goes is told no more often than one that lasts', () => {
  for (let second = 0; second < 20; second += 1) {
    watch.failed(new Error('too many clients'));
    watch.answered();
    clock.advance(1_000);
  }
  expect(said.map(([level]) => level)).toEqual(['warn', 'info']);
});

test('nothing is told while the database answers', () => {
  watch.answered();
  expect(said).toEqual([]);
});
