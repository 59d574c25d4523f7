import { describe, expect, it } from 'vitest';
import { errorGroupOf, OTHER_ERRORS, patternOf, shownFingerprint } from './error-group.ts';

describe('errors of one group', () => {
  it.each([
    ['numbers', 'row 41 of 1,000 is broken', 'row 7 of 12.5 is broken'],
    [
      'ids',
      'no user 0190a1b2-0000-7000-8000-000000000001 here',
      'no user 4190a1b2-aaaa-7000-8000-00000000000f here',
    ],
    ['tokens', 'bad token sk_live_4242abcd9f', 'bad token sk_live_9921ffdd0a'],
    [
      'hashes',
      'commit 3f786850e387550fdab836ed7e6dc881de23001b',
      'commit 89e6c98d92887913cadf06b2adb97f26cde4849b',
    ],
    ['times', 'late since 2026-03-01T02:30:00.123Z', 'late since 2026-03-02 04:00:00+01:00'],
    ['times of day', 'late since 02:30', 'late since 14:30:15'],
    [
      'paths and queries of addresses',
      'GET http://10.0.0.1:8080/users/7?y=1 answered 503',
      'GET http://10.0.0.1:8080/ answered 502',
    ],
    ['the spelling of addresses', 'GET https://A.example:443 failed', 'GET https://u:p@a.example/x failed'],
    ['pointers', 'at 0xdeadbeef', 'at 0x1f'],
    ['spaces', 'a\n  b', 'a b'],
  ])('differ only in %s', (_, one, other) => {
    expect(patternOf(one)).toBe(patternOf(other));
    expect(errorGroupOf('http', one).fingerprint).toBe(errorGroupOf('http', other).fingerprint);
  });

  it.each([
    ['host', 'GET http://127.0.0.1:8080 failed', 'GET http://127.0.0.2:8080 failed'],
    ['port', 'GET http://127.0.0.1:8080 failed', 'GET http://127.0.0.1:9 failed'],
    [
      'second address',
      'http://a.example led to http://b.example/1',
      'http://a.example led to http://c.example/1',
    ],
  ])('do not differ in the %s of an address', (_, one, other) => {
    expect(errorGroupOf('http', one).fingerprint).not.toBe(errorGroupOf('http', other).fingerprint);
  });

  it('have the same words and the same handler', () => {
    const { fingerprint } = errorGroupOf('http', 'connection refused');
    expect(fingerprint).toMatch(/^[0-9a-f]{16}$/);
    expect(errorGroupOf('http', 'connection reset').fingerprint).not.toBe(fingerprint);
    expect(errorGroupOf('script', 'connection refused').fingerprint).not.toBe(fingerprint);
  });

  it('are shown by a fingerprint that nobody computes without the key, and that tells nothing of another namespace', () => {
    const { fingerprint } = errorGroupOf('http', 'connection refused');
    const shown = shownFingerprint('key', { namespace: 'a', fingerprint });
    expect(shown).toMatch(/^[0-9a-f]{16}$/);
    expect(shown).not.toBe(fingerprint);
    expect(shownFingerprint('key', { namespace: 'a', fingerprint })).toBe(shown);
    expect(shownFingerprint('key', { namespace: 'b', fingerprint })).not.toBe(shown);
    expect(shownFingerprint('other key', { namespace: 'a', fingerprint })).not.toBe(shown);
    expect(shownFingerprint('key', { namespace: 'a', fingerprint: OTHER_ERRORS })).toBe(OTHER_ERRORS);
  });

  it('are compared by their beginning, and shown by it', () => {
    const long = 'x y '.repeat(10_000);
    expect(errorGroupOf('http', long).fingerprint).toBe(errorGroupOf('http', `${long}more`).fingerprint);
    expect(errorGroupOf('http', long).message.length).toBeLessThanOrEqual(300);
  });

  it('are found in bounded time, whatever the text', () => {
    for (const text of ['a-'.repeat(5_000), '1,'.repeat(5_000), 'a1'.repeat(5_000), ':/'.repeat(5_000)])
      expect(patternOf(text).length).toBeLessThanOrEqual(4_000);
  });
});
