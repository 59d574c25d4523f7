import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { callOfCommand } from './curl.ts';

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
const JSON_TYPE = { 'Content-Type': 'application/json', Accept: 'application/json' };
const URL_1 = 'https://example.org/ping';

describe('what is carried over', () => {
  test.each([
    [`curl -fsS ${URL_1}`, { url: URL_1 }],
    [`/usr/bin/curl -s ${URL_1} >/dev/null 2>&1`, { url: URL_1 }],
    [`curl -s '${URL_1}?a=1&b=2' > /dev/null`, { url: `${URL_1}?a=1&b=2` }],
    [`curl -X POST ${URL_1}`, { url: URL_1, method: 'POST' }],
    [`curl -XPOST ${URL_1}`, { url: URL_1, method: 'POST' }],
    [`curl -X POST -d 'a=1' ${URL_1}`, { url: URL_1, method: 'POST', headers: FORM, body: 'a=1' }],
    [`curl -d a=1 -d "b=x y" ${URL_1}`, { url: URL_1, method: 'POST', headers: FORM, body: 'a=1&b=x y' }],
    [`curl --data-raw '@home' ${URL_1}`, { url: URL_1, method: 'POST', headers: FORM, body: '@home' }],
    [
      `curl --data-urlencode 'q=a b' ${URL_1}`,
      { url: URL_1, method: 'POST', headers: FORM, body: 'q=a%20b' },
    ],
    [`curl -G -d a=1 '${URL_1}?b=2'`, { url: `${URL_1}?b=2&a=1` }],
    [
      `curl --json '{"a": "it'\\''s"}' ${URL_1}`,
      { url: URL_1, method: 'POST', headers: JSON_TYPE, body: '{"a": "it\'s"}' },
    ],
    [
      `curl -H 'Content-Type: application/json' -H "X-A: \\"b\\"" -H 'Expect:' -d '{}' ${URL_1}`,
      {
        url: URL_1,
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-A': '"b"' },
        body: '{}',
      },
    ],
    [`curl -sSu ada:secret ${URL_1}`, { url: URL_1, headers: { Authorization: 'Basic YWRhOnNlY3JldA==' } }],
    [
      `curl https://ada:secret@example.org/x`,
      { url: 'https://example.org/x', headers: { Authorization: 'Basic YWRhOnNlY3JldA==' } },
    ],
    [`curl -I ${URL_1} -o /dev/null`, { url: URL_1, method: 'HEAD' }],
    ['curl example.org/x', { url: 'http://example.org/x' }],
    [`wget -q -O /dev/null ${URL_1}`, { url: URL_1 }],
    [`wget -qO- ${URL_1}`, { url: URL_1 }],
    [`wget -q --spider ${URL_1}`, { url: URL_1, method: 'HEAD' }],
    [
      `wget -qO- --post-data='a=1' --header 'X-A: b' ${URL_1}`,
      { url: URL_1, method: 'POST', headers: { 'X-A': 'b', ...FORM }, body: 'a=1' },
    ],
  ])('%s', (command, payload) => {
    expect(callOfCommand(command)).toEqual({ call: { payload } });
  });

  test('redirects are not followed, which is said', () => {
    expect(callOfCommand(`curl -fsSL ${URL_1}`)).toEqual({
      call: { payload: { url: URL_1 }, note: expect.stringContaining('redirects are not followed') },
    });
  });

  test('a time limit and retries', () => {
    for (const limit of ['-m 30', '-m30', '--max-time 30', '--max-time=30'])
      expect(callOfCommand(`curl -s ${limit} --retry 2 ${URL_1}`)).toEqual({
        call: { payload: { url: URL_1 }, timeoutSeconds: 30, maxRetries: 2 },
      });
  });
});

describe('what is not, and why', () => {
  test.each([
    [`curl ${URL_1} | sh`, /another command \(\|\)/],
    [`curl ${URL_1} && rm -rf /tmp/x`, /second command/],
    [`curl ${URL_1}?a=1&b=2`, /needs quotes/],
    ['curl https://example.org/$(hostname)', /\(\$\)/],
    ['curl "https://example.org/$HOST"', /variable/],
    [`curl ${URL_1} > /var/log/x.log`, /writes to \/var\/log\/x\.log/],
    [`curl -o /tmp/x ${URL_1}`, /writes to \/tmp\/x/],
    [`curl -k ${URL_1}`, /certificate/],
    [`curl -d @file ${URL_1}`, /body comes from a file/],
    [`curl -F a=b ${URL_1}`, /form with parts/],
    [`curl -u ada ${URL_1}`, /password/],
    [`curl --tlsv1.2 ${URL_1}`, /--tlsv1\.2 has no counterpart/],
    [`curl ${URL_1} ${URL_1}`, /more than one address/],
    ['curl https://example.org/[1-3]', /several/],
    ['curl ftp://example.org/x', /not an http address/],
    ['curl -s ', /names no address/],
    [`curl -d 'a ${URL_1}`, /quote is not closed/],
    [`wget ${URL_1}`, /writes a file/],
  ])('%s', (command, reason) => {
    expect(callOfCommand(command)).toEqual({ reason: expect.stringMatching(reason) });
  });

  test('another program is no call', () => {
    for (const command of [`/opt/mycurl ${URL_1}`, 'backup.sh', `echo curl ${URL_1}`, 'curlew'])
      expect(callOfCommand(command)).toBeUndefined();
  });

  test('one that gets an input stays a command', () => {
    expect(callOfCommand(`curl -d @- ${URL_1}`, { hasInput: true })).toMatchObject({
      reason: expect.stringMatching(/input/),
    });
  });
});

test('any text is a call, or has a reason, or is none', () => {
  const part = fc.constantFrom(
    "'",
    '"',
    '\\',
    ' ',
    '-d',
    '-X',
    '>',
    '&',
    '$',
    URL_1,
    '=',
    'a',
    '-',
    '@',
    '[',
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
      const found = callOfCommand(`curl ${parts.join('')}`);
      expect(found && ('call' in found || found.reason !== '')).toBe(true);
    }),
  );
});
