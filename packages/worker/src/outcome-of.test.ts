import { ERROR_LENGTH_MAX, RESULT_BYTES_MAX, type RunOutcome } from '@carillon/domain';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { claimedRun } from './claimed-run.fixture.ts';
import { HandlerError } from './handler.ts';
import { outcomeAsTold, outcomeOfAnswer, outcomeOfError, outcomeOfStop } from './outcome-of.ts';
import { RunInProgress, type StopReason } from './run-in-progress.ts';

function progress(stop?: StopReason): RunInProgress {
  const run = new RunInProgress(claimedRun(), 0);
  if (stop) run.requestStop(stop, `told: ${stop}`, 0);
  return run;
}

const resultOf = (answer: unknown): unknown =>
  JSON.parse((outcomeOfAnswer(progress(), answer) as { result: string }).result) as unknown;

describe('an answer', () => {
  test('that is JSON is kept as it is', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'grapheme-ascii' }), (value) => {
        // JSON has no negative zero.
        expect(JSON.stringify(resultOf(value))).toBe(JSON.stringify(value));
      }),
    );
  });

  test('of undefined is success without a result, and null is a result', () => {
    expect(outcomeOfAnswer(progress(), undefined)).toEqual({ kind: 'SUCCESS' });
    expect(outcomeOfAnswer(progress(), null)).toEqual({ kind: 'SUCCESS', result: 'null' });
  });

  test('that JSON has no word for is left out', () => {
    expect(outcomeOfAnswer(progress(), () => 1)).toEqual({ kind: 'SUCCESS' });
    expect(outcomeOfAnswer(progress(), Symbol('x'))).toEqual({ kind: 'SUCCESS' });
  });

  test('that cannot be made into JSON still succeeded, and says so', () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const note = { note: 'the result is not JSON and was not kept' };
    expect(resultOf(circle)).toEqual(note);
    expect(resultOf(1n)).toEqual(note);
  });

  test('is kept up to the limit in bytes and not beyond (hazard 23)', () => {
    const largest = 'x'.repeat(RESULT_BYTES_MAX - 2);
    expect(resultOf(largest)).toBe(largest);
    expect(resultOf(`${largest}x`)).toEqual({
      note: expect.stringContaining(`larger than ${RESULT_BYTES_MAX}`),
    });
    expect(resultOf('é'.repeat(RESULT_BYTES_MAX / 2))).toEqual({ note: expect.any(String) });
  });

  test('never holds what the database refuses, or one result would block the batch it travels in', () => {
    expect(resultOf({ 'k\0': 'a\0b' })).toEqual({ 'k\ufffd': 'a\ufffdb' });
    expect(resultOf(['\ud800', 'a\udfffb', { '\ud83d': 1 }])).toEqual([
      '\ufffd',
      'a\ufffdb',
      { '\ufffd': 1 },
    ]);
    fc.assert(
      fc.property(
        fc.jsonValue({ stringUnit: fc.constantFrom('\0', '\ud83d', '\ude00', '\\', 'u', '0', 'd', '8') }),
        (value) => {
          expect(JSON.stringify(resultOf(value))).not.toMatch(/(?<!\\)(\\\\)*\\u(0000|d[89a-f])/);
        },
      ),
    );
  });

  test('keeps whole characters, and a backslash that only looks like an escape', () => {
    expect(resultOf(['😀', '\\u0000', '\\ud800', '\\\\u0000'])).toEqual([
      '😀',
      '\\u0000',
      '\\ud800',
      '\\\\u0000',
    ]);
  });

  test('after a cancel is overruled; after a timeout or the word to give back it stands', () => {
    expect(outcomeOfAnswer(progress('cancelled'), 1)).toEqual({
      kind: 'CANCELLED',
      error: 'told: cancelled',
    });
    expect(outcomeOfAnswer(progress('timed_out'), 1)).toEqual({ kind: 'SUCCESS', result: '1' });
    expect(outcomeOfAnswer(progress('returned'), 1)).toEqual({ kind: 'SUCCESS', result: '1' });
  });
});

describe('an error', () => {
  const failed = (error: unknown) =>
    outcomeOfError(progress(), error) as Extract<RunOutcome, { kind: 'FAILED' }>;

  test('of any kind may be tried again', () => {
    expect(failed(new Error('no'))).toEqual({ kind: 'FAILED', error: 'no', retryable: true });
    expect(failed('a string')).toEqual({ kind: 'FAILED', error: 'a string', retryable: true });
    expect(failed(undefined)).toEqual({ kind: 'FAILED', error: 'undefined', retryable: true });
    expect(failed(new TypeError())).toMatchObject({ error: 'TypeError' });
  });

  test('names its cause', () => {
    expect(failed(new Error('could not call', { cause: new Error('refused') })).error).toBe(
      'could not call: refused',
    );
  });

  test('of a handler says itself whether, and after what pause, another try makes sense', () => {
    const error = new HandlerError('busy', { retryAfterMs: 5_000, result: { status: 429 } });
    expect(failed(error)).toEqual({
      kind: 'FAILED',
      error: 'busy',
      retryable: true,
      retryAfterMs: 5_000,
      result: '{"status":429}',
    });
    expect(failed(new HandlerError('never', { retryable: false }))).toEqual({
      kind: 'FAILED',
      error: 'never',
      retryable: false,
    });
  });

  test('is cut to what is kept, and holds no NUL', () => {
    expect(failed(new Error('x'.repeat(ERROR_LENGTH_MAX + 1))).error).toHaveLength(ERROR_LENGTH_MAX);
    expect(failed(new Error('a\0b')).error).toBe('ab');
  });

  test('after the word to stop is not the story: the reason to stop is', () => {
    expect(outcomeOfError(progress('cancelled'), new Error('aborted'))).toMatchObject({ kind: 'CANCELLED' });
    expect(outcomeOfError(progress('timed_out'), new Error('aborted'))).toMatchObject({ kind: 'TIMED_OUT' });
    expect(outcomeOfError(progress('returned'), new Error('aborted'))).toMatchObject({ kind: 'RETURNED' });
  });
});

test.each([
  ['cancelled', 'CANCELLED'],
  ['timed_out', 'TIMED_OUT'],
  ['returned', 'RETURNED'],
] as const)('a run that was told to stop because %s is reported as %s', (reason, kind) => {
  expect(outcomeOfStop({ reason, message: 'why', at: 0 })).toEqual({ kind, error: 'why' });
});

describe('a result that says of itself that it is stored elsewhere', () => {
  const mark = { $stored: { bytes: 5, day: '2030-01-31', server: 'x' } };

  test.each([
    ['as it is', mark],
    ['by its JSON', { toJSON: () => mark }],
    ['with a text that the database shortens', { ...mark, more: '\0'.repeat(60) }],
  ])('%s is not kept when a handler answers it', (_, value) => {
    expect(resultOf(value)).toEqual({ note: expect.stringContaining('$stored') });
    const thrown = outcomeOfError(progress(), new HandlerError('no', { result: value }));
    expect(thrown).toMatchObject({ error: 'no', result: expect.stringContaining('"note"') });
  });

  test('within a result is data', () => {
    expect(resultOf({ result: mark })).toEqual({ result: mark });
    expect(resultOf([mark])).toEqual([mark]);
  });

  test('is kept as a worker tells it only where it has the form of one', () => {
    const told = (result: string) => outcomeAsTold({ kind: 'SUCCESS', result });
    expect(told(JSON.stringify(mark))).toEqual({ kind: 'SUCCESS', result: JSON.stringify(mark) });
    expect(told('{"$stored":1}')).toMatchObject({ result: expect.stringContaining('"note"') });
  });
});

describe('secrets of the run', () => {
  const run = new RunInProgress(claimedRun({ secrets: ['hunter"2hunter"2', '12345678', 'short'] }), 0);
  const masked = (answer: unknown) => (outcomeOfAnswer(run, answer) as { result: string }).result;

  test('are masked in results, as they are and as JSON; short ones are not', () => {
    expect(masked({ a: 'token hunter"2hunter"2', b: ['12345678', 'short'] })).toBe(
      '{"a":"token ***","b":["***","short"]}',
    );
    expect(masked({ 'hunter"2hunter"2': 1 })).toBe('{"***":1}');
  });

  test('that are numbers cost the result, not the run', () => {
    expect(JSON.parse(masked({ pin: 12345678 }))).toEqual({ note: expect.stringContaining('a secret') });
  });

  test('are masked where nothing stands between their characters but NUL, which is not kept', () => {
    const outcome = outcomeOfError(run, new Error('it is 1234\x005678 here')) as { error: string };
    expect(outcome.error).toBe('it is *** here');
  });

  test('are masked in errors before they are cut, in their causes and in what they answer', () => {
    const error = new HandlerError('x'.repeat(ERROR_LENGTH_MAX - 4), {
      cause: new Error('12345678'),
      result: { said: '12345678' },
    });
    const outcome = outcomeOfError(run, error) as { error: string; result: string };
    expect(outcome.error).toBe(`${'x'.repeat(ERROR_LENGTH_MAX - 4)}: **`);
    expect(outcome.result).toBe('{"said":"***"}');
  });
});
