/** Every promise of the storage. An adapter that passes may stand behind the roles; a simulation on one that does not is lying. */
import { describe } from 'vitest';
import { describeAccountStore } from './account-store.conformance.ts';
import { describeAdapterDifferences } from './adapter-differences.conformance.ts';
import { describeAuditStore } from './audit-store.conformance.ts';
import { describeEventStore } from './event-store.conformance.ts';
import { describeGenerationStore } from './generation-store.conformance.ts';
import { describeHousekeepingStore } from './housekeeping-store.conformance.ts';
import { describeJobStore } from './job-store.conformance.ts';
import { describeLeaseStore } from './lease-store.conformance.ts';
import { describeMemberStore } from './member-store.conformance.ts';
import { describeRunStore } from './run-store.conformance.ts';
import { describeScheduleStore } from './schedule-store.conformance.ts';
import type { MakeStorage } from './storage-under-test.ts';

export function describeStorage(name: string, make: MakeStorage): void {
  describe(name, () => {
    describeJobStore(make);
    describeScheduleStore(make);
    describeLeaseStore(make);
    describeMemberStore(make);
    describeRunStore(make);
    describeHousekeepingStore(make);
    describeEventStore(make);
    describeAuditStore(make);
    describeAccountStore(make);
    describeGenerationStore(make);
    describeAdapterDifferences(make);
  });
}
