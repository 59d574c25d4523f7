import { expect, test } from 'vitest';
import { waitingWords } from './waiting-words.ts';

const none = { waiting: 0, unoffered: [], running: 0, slots: 260 };

test('says why runs wait, and does not blame slots that are free', () => {
  expect(waitingWords(none)).toBe('No run waits that could start');
  expect(waitingWords({ ...none, waiting: 1, unoffered: ['resise-image'] })).toBe(
    '1 run could start and waits: no worker offers the handler resise-image',
  );
  expect(waitingWords({ ...none, waiting: 3, unoffered: ['a', 'b'] })).toBe(
    '3 runs could start and wait: no worker offers the handlers a, b',
  );
  expect(waitingWords({ ...none, waiting: 2, running: 260 })).toMatch(/all slots are in use$/);
  expect(waitingWords({ ...none, waiting: 2, slots: 0 })).toMatch(/no worker takes runs$/);
  expect(waitingWords({ ...none, waiting: 2 })).toMatch(/wait to be handed to a worker$/);
  expect(waitingWords({ ...none, waiting: 1_000, running: null, slots: null })).toMatch(
    /^1,000 or more runs/,
  );
});
