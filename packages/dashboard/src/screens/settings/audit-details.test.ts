import type { AuditEntry } from '@carillon/client';
import { expect, test } from 'vitest';
import { readableDetails, subjectName } from './audit-details.ts';

const about = (name: string | null, over: Partial<AuditEntry> = {}) =>
  subjectName({ subject: { kind: 'job', id: '1', name }, before: null, after: null, ...over } as AuditEntry);

test('what an entry is about is named as it is called now, and what is gone as the entry tells', () => {
  expect(about('weekly', { before: { name: 'nightly' } })).toBe('weekly');
  expect(about(null, { before: { name: 'nightly' } })).toBe('nightly');
  expect(about(null, { after: { name: 'x' }, before: { name: 'y' } })).toBe('x');
  expect(about(null)).toBeUndefined();
});

test('a payload that was recorded as JSON text is shown as JSON', () => {
  expect(readableDetails({ payload: '{"url":"https://example.org"}', name: 'a' })).toEqual({
    payload: { url: 'https://example.org' },
    name: 'a',
  });
  expect(readableDetails({ name: '{broken' })).toEqual({ name: '{broken' });
  expect(readableDetails(null)).toBeNull();
});
