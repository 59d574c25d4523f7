/** Every promise of the storage. An adapter that passes may stand behind the roles; a simulation on one that does not is lying. */
import { describe } from 'vitest';
import { describeAccountStore } from './account-store.conformance.ts';
import { describeAdapterDifferences } from './adapter-differences.conformance.ts';
import { describeAuditStore } from './audit-store.conformance.ts';
import { describeDeadLetters } from './dead-letters.conformance.ts';
import { describeEventStore } from './event-store.conformance.ts';
import { describeGenerationStore } from './generation-store.conformance.ts';
import { describeHandlerStore } from './handler-store.conformance.ts';
import { describeHousekeepingStore } from './housekeeping-store.conformance.ts';
import { describeJobStore } from './job-store.conformance.ts';
import { describeLeaseClaim } from './lease-claim.conformance.ts';
import { describeLeaseFollow } from './lease-follow.conformance.ts';
import { describeLeaseLanes } from './lease-lanes.conformance.ts';
import { describeLeasePending } from './lease-pending.conformance.ts';
import { describeLeaseSettle } from './lease-settle.conformance.ts';
import { describeMemberStore } from './member-store.conformance.ts';
import { describeRunList } from './run-list.conformance.ts';
import { describeRunLogStore } from './run-log-store.conformance.ts';
import { describeRunRequests } from './run-requests.conformance.ts';
import { describeRunState } from './run-state-store.conformance.ts';
import { describeRunViews } from './run-views.conformance.ts';
import { describeScheduleAdmit } from './schedule-admit.conformance.ts';
import { describeScheduleFire } from './schedule-fire.conformance.ts';
import { describeScheduleRead } from './schedule-read.conformance.ts';
import { describeSecretStore } from './secret-store.conformance.ts';
import { describeSigningKeyStore } from './signing-key-store.conformance.ts';
import type { MakeStorage } from './storage-under-test.ts';

export function describeStorage(name: string, make: MakeStorage): void {
  describe(name, () => {
    describeJobStore(make);
    describe('schedule store: read', () => describeScheduleRead(make));
    describe('schedule store: fire', () => describeScheduleFire(make));
    describe('schedule store: admit', () => describeScheduleAdmit(make));
    describe('lease store: claim and hold', () => describeLeaseClaim(make));
    describe('lease store: lanes', () => describeLeaseLanes(make));
    describe('lease store: settle', () => describeLeaseSettle(make));
    describe('lease store: what follows', () => describeLeaseFollow(make));
    describe('lease store: shown', () => describeLeasePending(make));
    describeMemberStore(make);
    describe('run store: views', () => describeRunViews(make));
    describe('run store: list', () => describeRunList(make));
    describe('run store: dead letters', () => describeDeadLetters(make));
    describe('run store: requests', () => describeRunRequests(make));
    describe('run state store', () => describeRunState(make));
    describeHousekeepingStore(make);
    describeEventStore(make);
    describeAuditStore(make);
    describeAccountStore(make);
    describeSigningKeyStore(make);
    describeSecretStore(make);
    describeHandlerStore(make);
    describeRunLogStore(make);
    describeGenerationStore(make);
    describeAdapterDifferences(make);
  });
}
