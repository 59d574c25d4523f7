import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CALL_ERRORS, DID_NOT_STOP, plainEndOf, plainPartOf, RUN_ERRORS } from './run-errors.ts';

describe('the plain part of an error', () => {
  test.each(Object.entries(RUN_ERRORS))('is all of what Carillon itself says: %s', (_, write) => {
    const text = write('0b5c-7');
    expect(plainPartOf(text)).toBe(text);
    expect(plainPartOf(`${text}${DID_NOT_STOP}`)).toBe(`${text}${DID_NOT_STOP}`);
    expect(plainPartOf(`${text} and a secret`)).toBeUndefined();
    expect(plainPartOf(`a secret: ${text}`)).toBeUndefined();
  });

  test.each([
    ['the server answered 503', 'the server answered 503'],
    ['the server answered 500: a secret', 'the server answered 500'],
    ['the server answered 302: a redirect to https://x.example/', 'the server answered 302'],
    ['the server answered 5001', undefined],
    [
      'GET https://x.example failed: nothing listens at that address (ECONNREFUSED)',
      'the call failed: nothing listens at that address and port, or a firewall refuses connections (ECONNREFUSED)',
    ],
    ['GET https://x.example failed: a secret (EWHATEVER)', 'the call failed (EWHATEVER)'],
    ['GET https://x.example failed: a secret', undefined],
    [
      'calls to x.example (10.0.0.1) are not allowed here: 10.0.0.0/8 is private',
      'the call is not allowed here',
    ],
    ['the request could not be signed: a secret', 'the request could not be signed'],
    ['the payload is not valid JSON: Unexpected token s', 'the payload is not valid JSON'],
    ['payload.url is not a URL: a secret', undefined],
    ['the script ended with exit code 3', 'the script ended with exit code 3'],
    ['the script ended with exit code 1: a secret', 'the script ended with exit code 1'],
    [
      'the script ended with exit code 75 (it asks to be tried again): a secret',
      'the script ended with exit code 75 (it asks to be tried again)',
    ],
    [
      'the script was ended by SIGKILL (Carillon did not send it)',
      'the script was ended by SIGKILL (Carillon did not send it)',
    ],
    [
      'the script was ended by SIGKILL: it had more than 64 processes (script.processes)',
      'the script was ended by SIGKILL: it had more than 64 processes (script.processes)',
    ],
    [
      'the script ran out of memory: it used more than 512 MiB (script.memory_mb)',
      'the script ran out of memory: it used more than 512 MiB (script.memory_mb)',
    ],
    [
      'the script ran out of memory: the limit is 512 MiB (script.memory_mb): a secret',
      'the script ran out of memory: the limit is 512 MiB (script.memory_mb)',
    ],
    [
      'the script used more CPU time than it may: 60 s (script.cpu_seconds)',
      'the script used more CPU time than it may: 60 s (script.cpu_seconds)',
    ],
    [
      'the script wrote a larger file than it may: 1048576 bytes (script.file_size_mb)',
      'the script wrote a larger file than it may: 1048576 bytes (script.file_size_mb)',
    ],
    ['the script was ended by a secret', undefined],
    ['the script ran out of memory: a secret', 'the script ran out of memory'],
    ['the script reported an error: a secret', 'the script reported an error'],
    ['the script could not be started: a secret', 'the script could not be started'],
    ['a secret', undefined],
    ['', undefined],
  ])('%j is %j', (error, plain) => {
    expect(plainPartOf(error)).toBe(plain);
  });

  test('of a redirect is its status, and that redirects are not followed', () => {
    const error = `the server answered 302: a redirect to https://a.secret/. ${CALL_ERRORS.redirected}`;
    expect(plainPartOf(error)).toBe('the server answered 302');
    expect(plainEndOf(error)).toBe(`. ${CALL_ERRORS.redirected}`);
    expect(plainEndOf('the server answered 302: a secret')).toBe('');
    expect(plainEndOf(`a secret. ${CALL_ERRORS.redirected}`)).toBe('');
  });

  test('never depends on what a server answered', () => {
    fc.assert(
      fc.property(fc.string(), (body) => {
        expect(plainPartOf(`the server answered 404: ${body}`)).toBe('the server answered 404');
      }),
    );
  });
});
