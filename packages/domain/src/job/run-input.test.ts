import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../ids.ts';
import { PAYLOAD_BYTES_MAX } from './job.ts';
import { mergePatch, readRunInput } from './run-input.ts';

describe('a merge patch', () => {
  // The examples of RFC 7386, appendix A.
  test.each<[JsonValue, JsonValue, JsonValue]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j with %j is %j', (target, patch, expected) => {
    expect(mergePatch(target, patch)).toEqual(expected);
  });

  test('merged twice gives the same as once, and leaves the target alone', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (target, patch) => {
        const before = JSON.stringify(target);
        const once = mergePatch(target as JsonValue, patch as JsonValue);
        expect(mergePatch(once, patch as JsonValue)).toEqual(once);
        expect(JSON.stringify(target)).toBe(before);
      }),
    );
  });

  test('a member called __proto__ is a member like others', () => {
    const merged = mergePatch({}, JSON.parse('{"__proto__": {"a": 1}}') as JsonValue);
    expect(JSON.stringify(merged)).toBe('{"__proto__":{"a":1}}');
  });
});

describe('the input of a run', () => {
  const http = { handler: 'http', payload: '{"url":"http://example.org/","method":"GET"}' };

  test('is merged over the payload, and judged like a payload', () => {
    const read = readRunInput(http, { method: 'POST', body: { a: 1 } });
    expect(JSON.parse(read.payload)).toEqual({ url: 'http://example.org/', method: 'POST', body: { a: 1 } });
    expect(JSON.parse(read.input)).toEqual({ method: 'POST', body: { a: 1 } });
  });

  test.each<[string, JsonObject, string]>([
    ['field_missing', { url: null }, 'payload.url'],
    ['field_unknown', { uri: 'x' }, 'payload.uri'],
    ['field_invalid', { method: 'FETCH' }, 'payload.method'],
  ])('is refused as %s: %j', (code, input, field) => {
    expect(() => readRunInput(http, input)).toThrow(expect.objectContaining({ code, field }));
    expect(() => readRunInput({ ...http, handler: 'mail' }, input)).not.toThrow();
  });

  test('has the bounds of a payload, alone and merged', () => {
    const large = 'x'.repeat(PAYLOAD_BYTES_MAX - 100);
    const job = { handler: 'mail', payload: JSON.stringify({ large }) };
    expect(() => readRunInput(job, { other: large })).toThrow(
      expect.objectContaining({ code: 'payload_too_large' }),
    );
    expect(() => readRunInput(job, { large: 'small' })).not.toThrow();
    let deep: JsonObject = {};
    for (let i = 0; i < 1_000; i += 1) deep = { deep };
    expect(() => readRunInput(job, deep)).toThrow(expect.objectContaining({ field: 'payload' }));
  });
});
