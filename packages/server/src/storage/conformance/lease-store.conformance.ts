/** The promises of LeaseStore, as tests that every adapter passes. */
import { describe } from 'vitest';
import { describeLeaseClaim } from './lease-claim.conformance.ts';
import { describeLeaseFollow } from './lease-follow.conformance.ts';
import { describeLeaseLanes } from './lease-lanes.conformance.ts';
import { describeLeasePending } from './lease-pending.conformance.ts';
import { describeLeaseSettle } from './lease-settle.conformance.ts';
import type { MakeStorage } from './storage-under-test.ts';

export function describeLeaseStore(makeStorage: MakeStorage): void {
  describe('lease store: claim and hold', () => describeLeaseClaim(makeStorage));
  describe('lease store: lanes', () => describeLeaseLanes(makeStorage));
  describe('lease store: settle', () => describeLeaseSettle(makeStorage));
  describe('lease store: what follows', () => describeLeaseFollow(makeStorage));
  describe('lease store: shown', () => describeLeasePending(makeStorage));
}
