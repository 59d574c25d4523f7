import { CarillonError } from '@carillon/client';
import { CATALOGUE } from '@carillon/domain';
import { expect, test } from 'vitest';
import { explainError, withServer } from './explain-error.ts';
import { text } from './flags.ts';

/** The command speaks REST: what is wrong with messages of RPC it never hears. */
const heard = Object.entries(CATALOGUE).filter(([, { fix }]) => !fix.includes('proto file'));

const refusal = (code: string, more: { field?: string; fix?: string; retryAfterMs?: number } = {}) =>
  new CarillonError({ code, message: 'No.', status: 400, ...more });

test.each(heard)('the advice for %s makes sense on a command line', (code, { fix }) => {
  const told = explainError(refusal(code, { fix })).fix;
  expect(told).toBeTruthy();
  expect(told).not.toMatch(
    /\bthe answer|\bheader|Content-Type|Retry-After|If-Match|ETag|\b(GET|POST|PUT|DELETE) \/|\bsend\b/i,
  );
});

test('a field is told with the option that writes it, where the command has one', () => {
  const error = refusal('cron_invalid', { field: 'cron_expression' });
  expect(explainError(error, { cron_expression: text('--cron <expression>', '') }).message).toBe(
    'cron_expression (--cron): No.',
  );
  expect(explainError(error).message).toBe('cron_expression: No.');
});

test.each([
  [400, 2],
  [413, 2],
  [422, 2],
  [409, 1],
  [429, 1],
  [404, 3],
  [403, 4],
  [500, 1],
])('what the server refuses with %d ends with %d', (status, exitCode) => {
  expect(explainError(new CarillonError({ code: 'x', message: 'No.', status })).exitCode).toBe(exitCode);
});

test('a server that says when to come back is passed on', () => {
  expect(explainError(refusal('rate_limited', { retryAfterMs: 2_100 })).fix).toBe('Try again in 3 s.');
});

test.each([
  'The key is mistyped or incomplete: its last characters do not fit the others.',
  'The key has expired.',
])('a key that is not accepted is told with what the server says of it: %s', (message) => {
  const error = new CarillonError({ code: 'unauthorized', message, status: 401 });
  const server = { url: 'http://127.0.0.1:7420', from: '--url' };
  expect(withServer(explainError(error), { ...server, key: 'ck2_x' }).message).toBe(
    `Your key is not accepted at http://127.0.0.1:7420, which comes from --url. ${message}`,
  );
  expect(withServer(explainError(error), { ...server, key: undefined }).message).toBe(
    'You are not signed in at http://127.0.0.1:7420, which comes from --url.',
  );
});
