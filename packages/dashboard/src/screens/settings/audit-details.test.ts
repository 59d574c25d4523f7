import type { AuditEntry } from '@carillon/client';
import { expect, test } from 'vitest';
import { auditChanges, subjectName } from './audit-details.ts';

const about = (name: string | null, over: Partial<AuditEntry> = {}) =>
  subjectName({ subject: { kind: 'job', id: '1', name }, before: null, after: null, ...over } as AuditEntry);

test('what an entry is about is named as it is called now, and what is gone as the entry tells', () => {
  expect(about('weekly', { before: { name: 'nightly' } })).toBe('weekly');
  expect(about(null, { before: { name: 'nightly' } })).toBe('nightly');
  expect(about(null, { after: { name: 'x' }, before: { name: 'y' } })).toBe('x');
  expect(about(null)).toBeUndefined();
});

test('only the fields that differ are changes, and a payload that was recorded as JSON text is JSON', () => {
  const before = { name: 'a', payload: '{"url":"https://example.org"}', labels: { team: 'x' }, key: null };
  const after = {
    name: 'a',
    payload: '{"url":"https://example.net"}',
    labels: { team: 'x' },
    priority: 'high',
  };
  expect(auditChanges({ before, after })).toEqual([
    { field: 'payload', values: [{ url: 'https://example.org' }, { url: 'https://example.net' }] },
    { field: 'priority', values: [undefined, 'high'] },
  ]);
});

test('of what was made or removed, all fields are told', () => {
  expect(auditChanges({ before: null, after: { name: '{broken' } })).toEqual([
    { field: 'name', values: [undefined, '{broken'] },
  ]);
  expect(auditChanges({ before: { run_id: 'r' }, after: null })).toEqual([
    { field: 'run_id', values: ['r', undefined] },
  ]);
  expect(auditChanges({ before: null, after: null })).toEqual([]);
});
