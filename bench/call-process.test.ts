import { expect, onTestFinished, test } from 'vitest';
import type { FixtureCalls } from './call-process.fixture.ts';
import { startCalled } from './call-process.ts';

function start(abort = new AbortController().signal) {
  const started = startCalled<FixtureCalls>(new URL('./call-process.fixture.ts', import.meta.url), { abort });
  onTestFinished(() => started.end());
  return started;
}

test('every call gets its own answer, and one that fails harms no other', async () => {
  const called = start();
  const answers = await Promise.allSettled([
    called.call('double', 2),
    called.call('fail', 'not possible'),
    called.call('double', 4),
  ]);
  expect(answers).toMatchObject([{ value: 4 }, { reason: { message: 'not possible' } }, { value: 8 }]);
});

test('a process that dies fails the call under way and every later one', async () => {
  const called = start();
  const sentence = 'call-process.fixture.ts ended with 3';
  await expect(called.call('die', 3)).rejects.toThrow(sentence);
  await expect(called.call('double', 2)).rejects.toThrow(sentence);
});

test('an interrupted bench ends the process', async () => {
  const bench = new AbortController();
  const called = start(bench.signal);
  await called.call('double', 1);
  bench.abort();
  await called.end();
  await expect(called.call('double', 2)).rejects.toThrow('ended with');
});
