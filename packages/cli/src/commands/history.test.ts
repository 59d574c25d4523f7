import type { AuditEntry } from '@carillon/client';
import { expect, test } from 'vitest';
import { renderTable } from '../output/table.ts';
import { auditColumns } from './history.ts';

const ID = '01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f';

function tableOf(over: Partial<AuditEntry>): string {
  const entry: AuditEntry = {
    ...{ audit_id: 1, at: '2030-01-01T00:00:00Z', action: 'jobs.update', namespace: 'default' },
    actor: {
      kind: 'user',
      id: ID,
      name: 'ada',
      via: { kind: 'key', id: ID, name: 'carillon login on a-host' },
    },
    subject: { kind: 'job', id: ID, name: 'nightly export' },
    ...{ before: null, after: null, address: '203.0.113.7', user_agent: null, request_id: null },
    ...over,
  };
  const columns = auditColumns({ briefTime: () => '2030-01-01 00:00', width: 80 });
  return renderTable(columns, [entry], { width: 80, paintHeader: (text) => text });
}

test('the audit log names what was changed, also where the terminal has 80 columns', () => {
  expect(tableOf({})).toMatch(/ON[\s\S]*nightly export/);
});

test('what is gone is named as the entry tells, or by its id', () => {
  const subject = { kind: 'job', id: ID, name: null };
  expect(tableOf({ subject, before: { name: 'nightly export' } })).toContain('nightly export');
  expect(tableOf({ subject })).toMatch(/ 01893f2e-7c11 /);
});
