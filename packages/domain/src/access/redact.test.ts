import { describe, expect, test } from 'vitest';
import type { Caller } from './caller.ts';
import { SERVER } from './caller.ts';
import { HIDDEN, jobShownTo, REDACTED, redactor, runsShownTo, shapeOf } from './redact.ts';

const redact = (value: unknown, names?: readonly string[]) =>
  JSON.parse(redactor(names)(JSON.stringify(value)));

describe('credentials', () => {
  test('are taken out by the names of headers and members, however they are spelled', () => {
    const given = {
      url: 'https://example.org/x',
      headers: { Authorization: 'Bearer abc', Cookie: 'a=b', 'X-API-Key': 'k', accept: 'text/plain' },
      body: { user: 'ada', password: 'p', api_key: 'k', clientSecret: 's', nested: [{ refreshToken: 't' }] },
    };
    expect(redact(given)).toEqual({
      url: 'https://example.org/x',
      headers: { Authorization: REDACTED, Cookie: REDACTED, 'X-API-Key': REDACTED, accept: 'text/plain' },
      body: {
        user: 'ada',
        password: REDACTED,
        api_key: REDACTED,
        clientSecret: REDACTED,
        nested: [{ refreshToken: REDACTED }],
      },
    });
  });

  test('are taken out of texts: URLs, forms, JSON in JSON, and what follows Bearer', () => {
    const payload = JSON.stringify({
      url: 'https://ada:pw@example.org/?token=t&page=2',
      body: '{"password":"p"}',
    });
    const shown = JSON.stringify(
      redact({ payload, form: 'a=1&password=p', text: 'curl -H "x: Bearer abcdefgh"' }),
    );
    expect(shown).toContain('page=2');
    expect(shown).toContain('a=1');
    for (const secret of ['ada:pw', 'token=t', '"p\\\\', 'password=p', 'abcdefgh'])
      expect(shown).not.toContain(secret);
  });

  test('are taken out by names that the settings add', () => {
    expect(redact({ 'License-Plate': 'x', other: 'y' }, ['license_plate'])).toEqual({
      'License-Plate': REDACTED,
      other: 'y',
    });
  });

  test('are not seen where there are none: the text stays the same', () => {
    const text = '{ "name": "report",  "hasPassword":true }';
    expect(JSON.parse(redactor()(text))).toEqual({ name: 'report', hasPassword: true });
    const plain = '{ "name": "report" }';
    expect(redactor()(plain)).toBe(plain);
  });

  /** In a time that grows with its length: an expression that begins again at each character would take many minutes. */
  test.each([...';&?#=:/@ \t-_.', '://', 'bearer ', 'a=', ';a', '&token', '"', '\\'])(
    'reads a payload that is full of %j',
    (part) => {
      const text = `token ${part.repeat(256 * 1_024)}`;
      expect(redact({ a: text })).toHaveProperty('a');
    },
  );
});

describe('payloads', () => {
  const callerWith = (role: 'viewer' | 'observer' | 'operator', over: Partial<Caller> = {}): Caller => ({
    ...SERVER,
    grants: [{ namespace: 'team', role, ownOnly: false }],
    ...over,
  });
  const job = { namespace: 'team', userId: 'ada', payload: '{"url":"http://x","list":[1,{"a":null}]}' };

  test('show a viewer their shape, and an observer their values', () => {
    expect(jobShownTo(callerWith('observer'), job)).toBe(job);
    expect(JSON.parse(jobShownTo(callerWith('viewer'), job).payload)).toEqual({
      url: HIDDEN,
      list: [HIDDEN, { a: HIDDEN }],
    });
    expect(shapeOf('{}')).toBe('{}');
  });

  test('are not told by the length of a list, nor made much longer', () => {
    const list = Array.from({ length: 10_000 }, (_, i) => i % 10);
    expect(JSON.parse(shapeOf(JSON.stringify({ list: [...list, { a: 1 }, 2, 3] })))).toEqual({
      list: [HIDDEN, { a: HIDDEN }, HIDDEN],
    });
  });

  test('of own jobs are shown to whoever may edit these', () => {
    const grants: Caller['grants'] = [
      { namespace: 'team', role: 'viewer', ownOnly: false },
      { namespace: 'team', role: 'editor', ownOnly: true },
    ];
    const editor = callerWith('viewer', { grants, userId: 'ada' });
    expect(jobShownTo(editor, job)).toBe(job);
    expect(jobShownTo(editor, { ...job, userId: 'bob' }).payload).not.toBe(job.payload);
  });

  test('hide what runs answered as well', () => {
    const runs = [
      { result: '{"key":"x"}', error: undefined },
      { result: undefined, error: 'x is wrong' },
      { result: undefined, error: 'the server answered 401: x is wrong' },
      { result: undefined, error: 'cancelled while running' },
      { result: undefined, error: undefined },
    ];
    expect(runsShownTo(callerWith('viewer'), job, runs)).toEqual([
      { result: JSON.stringify(HIDDEN), error: undefined },
      { result: undefined, error: HIDDEN },
      { result: undefined, error: `the server answered 401: ${HIDDEN}` },
      { result: undefined, error: 'cancelled while running' },
      { result: undefined, error: undefined },
    ]);
    expect(runsShownTo(callerWith('operator'), job, runs)).toEqual(runs);
    expect(runsShownTo(callerWith('operator'), undefined, runs)).not.toEqual(runs);
    expect(runsShownTo(SERVER, undefined, runs)).toEqual(runs);
  });
});
