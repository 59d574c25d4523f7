import type { JsonObject, JsonValue } from '@carillon/domain';
import { describe, expect, test } from 'vitest';
import { HandlerError } from '../handler.ts';
import { readHttpPayload } from './http-payload.ts';

const url = 'https://example.com/hook?x=1';
const read = (over: JsonObject = {}) => readHttpPayload({ url, ...over });

/** Refused for good, with a message that names what is wrong. */
function expectUnusable(payload: JsonObject, message: RegExp): void {
  let thrown: unknown;
  try {
    readHttpPayload(payload);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(HandlerError);
  expect(thrown).toMatchObject({ retryable: false, message: expect.stringMatching(message) });
}

describe('the URL', () => {
  test('is taken as it is written', () => {
    expect(read().url.href).toBe(url);
  });

  test.each<[string, JsonValue | undefined, RegExp]>([
    ['that is missing', undefined, /url is missing/],
    ['that is not a text', 7, /url is missing/],
    ['that is none', 'example.com/hook', /is not a URL/],
    ['that reads files', 'file:///etc/passwd', /must be http or https, not file:/],
    ['that runs code', 'data:text/plain,x', /must be http or https/],
  ])('%s is refused for good', (_, value, message) => {
    expectUnusable(value === undefined ? {} : { url: value }, message);
  });
});

describe('the method', () => {
  test('is GET without a body and POST with one, unless it is said', () => {
    expect(read().method).toBe('GET');
    expect(read({ body: 'x' }).method).toBe('POST');
    expect(read({ body: 'x', method: 'put' }).method).toBe('PUT');
    expect(read({ method: null }).method).toBe('GET');
  });

  test.each(['CONNECT', 'TRACE', 'GET / HTTP/1.1\r\nHost: evil', ''])('%j is refused for good', (method) => {
    expectUnusable({ url, method }, /payload\.method/);
  });
});

describe('the body', () => {
  test('of a text is sent as it is, of anything else as JSON', () => {
    expect(read({ body: 'plain é' }).body?.toString()).toBe('plain é');
    expect(read({ body: { a: [1] } }).body?.toString()).toBe('{"a":[1]}');
    expect(read({ body: 7 }).body?.toString()).toBe('7');
    expect(read({ body: null }).body).toBeUndefined();
    expect(read({ body: '' }).body).toHaveLength(0);
  });

  test('of an object or a list is called JSON, unless the job says what it is', () => {
    expect(read({ body: {} }).headers).toEqual({ 'content-type': 'application/json' });
    expect(read({ body: [1] }).headers).toEqual({ 'content-type': 'application/json' });
    expect(read({ body: 'text' }).headers).toEqual({});
    const own = read({ body: {}, headers: { 'Content-Type': 'application/vnd.api+json' } });
    expect(own.headers).toEqual({ 'content-type': 'application/vnd.api+json' });
  });
});

describe('the headers', () => {
  test('are taken under lower-case names, values as text', () => {
    expect(read({ headers: { 'X-Number': 7, Authorization: 'Bearer x' } }).headers).toEqual({
      'x-number': '7',
      authorization: 'Bearer x',
    });
  });

  test.each([
    ['a line break in a value', { 'x-a': 'b\r\nx-admin: 1' }],
    ['a line feed alone', { 'x-a': 'b\nc' }],
    ['a NUL', { 'x-a': 'b\0' }],
    ['a control character', { 'x-a': 'b\u007f' }],
    ['a character beyond one byte', { 'x-a': '☃' }],
    ['a line break in a name', { 'x-a\r\nx-admin': '1' }],
    ['a colon in a name', { 'x-a:': '1' }],
    ['an empty name', { '': '1' }],
  ])('%s is refused for good (hazard 36)', (_, headers) => {
    expectUnusable({ url, headers }, /is not a valid header/);
  });

  test.each(['Transfer-Encoding', 'content-length', 'Connection', 'Upgrade', 'Expect'])(
    '%s belongs to the connection, and a job that sets it is refused for good (hazard 36)',
    (name) => {
      expectUnusable({ url, headers: { [name]: 'x' } }, /set by the connection itself/);
    },
  );

  test.each([
    'Host',
    'X-Forwarded-For',
    'x-forwarded-host',
    'X_Forwarded_For',
    'Forwarded',
    'X-Real-IP',
    'Via',
    'CF-Connecting-IP',
  ])('%s tells who the caller is, and a job that sets it is refused for good', (name) => {
    expectUnusable({ url, headers: { [name]: '10.0.0.1' } }, /no job may set it/);
  });

  test('that are not an object are refused for good', () => {
    expectUnusable({ url, headers: ['a: b'] }, /must be an object/);
    expectUnusable({ url, headers: 'a: b' }, /must be an object/);
  });
});

describe('the expected status', () => {
  const accepted = (expectation: JsonValue | undefined) =>
    [100, 199, 200, 204, 299, 301, 404, 500].filter((status) =>
      read(expectation === undefined ? {} : { expect_status: expectation }).expects(status),
    );

  test.each<[string, JsonValue | undefined, number[]]>([
    ['is any 2xx unless it is said', undefined, [200, 204, 299]],
    ['may be one', 404, [404]],
    ['may be a class', '3xx', [301]],
    ['may be a list of both', [204, '5XX'], [204, 500]],
  ])('%s', (_, expectation, statuses) => {
    expect(accepted(expectation)).toEqual(statuses);
  });

  test.each<[JsonValue]>([['ok'], [99], [600], ['2x'], [[200, 'many']], [{}]])(
    '%j is refused for good',
    (value) => {
      expectUnusable({ url, expect_status: value }, /is not a status/);
    },
  );
});
