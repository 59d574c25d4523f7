import { expect, test } from 'vitest';
import { waitText } from './waits-for.ts';

test('what a run waits for is told in words, and nothing where it may be handed out', () => {
  expect(waitText({ code: 'not_due', untilMs: Date.UTC(2030, 0, 1) })).toBe(
    'waits until 2030-01-01T00:00:00.000Z',
  );
  expect(waitText({ code: 'no_worker', handler: 'resize' })).toBe('no worker offers the handler "resize"');
  expect(waitText({ code: 'no_worker', handler: 'script' })).toMatch(/"script": .*--script-enabled/);
  expect(waitText({ code: 'claimable' })).toBeUndefined();
});
