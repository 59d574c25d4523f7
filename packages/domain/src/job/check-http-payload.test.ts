import { expect, test } from 'vitest';
import { Refusal } from '../errors/refusal.ts';
import type { JsonObject } from '../ids.ts';
import { defineJob, redefineJob } from './define-job.ts';

const NOW = Date.UTC(2030, 0, 1);
const URL_OK = 'https://example.org/a?b=c';

function refusedField(payload: JsonObject): string | undefined {
  try {
    defineJob({ name: 'job', handler: 'http', payload }, NOW);
  } catch (error) {
    if (error instanceof Refusal) return error.field;
    throw error;
  }
  return undefined;
}

test.each<[payload: JsonObject, field: string]>([
  [{}, 'payload.url'],
  [{ url: null }, 'payload.url'],
  [{ url: 5 }, 'payload.url'],
  [{ url: 'example.org' }, 'payload.url'],
  [{ url: `${URL_OK}\u0003` }, 'payload.url'],
  [{ url: 'https://example.org/\na' }, 'payload.url'],
  [{ url: 'file:///etc/passwd' }, 'payload.url'],
  [{ url: URL_OK, methd: 'GET' }, 'payload.methd'],
  [{ url: URL_OK, method: 'TRACE' }, 'payload.method'],
  [{ url: URL_OK, method: 7 }, 'payload.method'],
  [{ url: URL_OK, headers: [] }, 'payload.headers'],
  [{ url: URL_OK, headers: { 'a b': 'x' } }, 'payload.headers'],
  [{ url: URL_OK, headers: { accept: 'a\r\nx: y' } }, 'payload.headers.accept'],
  [{ url: URL_OK, headers: { accept: {} } }, 'payload.headers.accept'],
  [{ url: URL_OK, headers: { 'Content-Length': 5 } }, 'payload.headers.Content-Length'],
  [{ url: URL_OK, headers: { 'X-Forwarded-For': '10.0.0.1' } }, 'payload.headers.X-Forwarded-For'],
  [{ url: URL_OK, headers: { 'x-forwarded-proto': 'https' } }, 'payload.headers.x-forwarded-proto'],
  [{ url: URL_OK, headers: { Forwarded: 'for=10.0.0.1' } }, 'payload.headers.Forwarded'],
  // Receivers that get headers as variables (CGI, WSGI) take these for the ones with a hyphen.
  [{ url: URL_OK, headers: { X_Forwarded_For: '10.0.0.1' } }, 'payload.headers.X_Forwarded_For'],
  [{ url: URL_OK, headers: { 'X.Real_IP': '10.0.0.1' } }, 'payload.headers.X.Real_IP'],
  [{ url: URL_OK, headers: { Content_Length: 5 } }, 'payload.headers.Content_Length'],
  [{ url: URL_OK, headers: { Webhook_Signature: 'v1,x' } }, 'payload.headers.Webhook_Signature'],
  [{ url: URL_OK, headers: { Carillon_Run_Id: 'x' } }, 'payload.headers.Carillon_Run_Id'],
  [{ url: URL_OK, headers: { Host: 'other.example' } }, 'payload.headers.Host'],
  [{ url: URL_OK, headers: { 'x-real-ip': '10.0.0.1' } }, 'payload.headers.x-real-ip'],
  [{ url: URL_OK, headers: { 'Proxy-Authorization': 'x' } }, 'payload.headers.Proxy-Authorization'],
  [{ url: URL_OK, headers: { 'Carillon-Signature': 'v1=0' } }, 'payload.headers.Carillon-Signature'],
  [{ url: URL_OK, headers: { 'Idempotency-Key': 'mine' } }, 'payload.headers.Idempotency-Key'],
  [{ url: URL_OK, expect_status: '700' }, 'payload.expect_status'],
  [{ url: URL_OK, expect_status: [] }, 'payload.expect_status'],
  [{ url: URL_OK, expect_status: [200, {}] }, 'payload.expect_status'],
])('an http job with %j is refused when it is made', (payload, field) => {
  expect(refusedField(payload)).toBe(field);
});

test('what can be called is taken, and other handlers are left alone', () => {
  const call = {
    url: URL_OK,
    method: 'put',
    headers: { 'x-a': 1, Cookie: 'a=b' },
    expect_status: ['2xx', 404],
    body: [1],
  };
  expect(refusedField(call)).toBeUndefined();
  expect(defineJob({ name: 'job', handler: 'mail', payload: { url: 5 } }, NOW).handler).toBe('mail');
});

test.each([
  'http://{{secrets.tok}}/',
  'https:{{secrets.tok}}/',
  'http://{{secrets.tok}}.example.org/',
  'http://example.org{{secrets.tok}}/',
  'http://user:{{secrets.tok}}@example.org/',
  'http://{{secrets.tok}}@example.org/{{secrets.tok}}',
  'http://example.org:80{{secrets.tok}}/',
])('a secret says nothing of where %s leads', (url) => {
  expect(refusedField({ url })).toBe('payload.url');
});

test.each([
  'http://example.org/{{secrets.tok}}',
  'http://example.org?key={{secrets.tok}}',
  'http://user:word@example.org/a#{{secrets.tok}}',
  'http://example.org/{{!secrets.tok}}',
])('a secret may stand behind the host, as in %s', (url) => {
  expect(refusedField({ url })).toBeUndefined();
});

test('a change is judged by what it changes: a job of old stays editable', () => {
  const old = { ...defineJob({ name: 'job', handler: 'mail' }, NOW), handler: 'http' };
  expect(redefineJob(old, { name: 'renamed' }, NOW).definition.name).toBe('renamed');
  expect(() => redefineJob(old, { payload: { url: 'no' } }, NOW)).toThrow(Refusal);
});
