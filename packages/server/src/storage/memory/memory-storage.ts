/**
 * The storage in memory, for simulations and tests: all ports over one state. Every call does its whole work before it
 * returns its promise, so calls are atomic and their order is the order of the calls; the same calls give the same state.
 */
import type { Clock } from '@carillon/foundation';
import type { Storage } from '../storage.ts';
import { MemoryAccountStore } from './memory-account-store.ts';
import { MemoryAuditStore } from './memory-audit-store.ts';
import { MemoryEventStore } from './memory-event-store.ts';
import { MemoryGenerationStore } from './memory-generation-store.ts';
import { MemoryHandlerStore } from './memory-handler-store.ts';
import { MemoryHousekeepingStore } from './memory-housekeeping-store.ts';
import { MemoryInsightStore } from './memory-insight-store.ts';
import { MemoryJobStore } from './memory-job-store.ts';
import { MemoryLeaseStore } from './memory-lease-store.ts';
import { MemoryMemberStore } from './memory-member-store.ts';
import { MemoryOwnSettingsStore } from './memory-own-settings-store.ts';
import { MemoryRunLogStore } from './memory-run-log-store.ts';
import { MemoryRunStateStore } from './memory-run-state-store.ts';
import { MemoryRunStore } from './memory-run-store.ts';
import { MemoryScheduleStore } from './memory-schedule-store.ts';
import { MemorySecretStore } from './memory-secret-store.ts';
import { MemorySigningKeyStore } from './memory-signing-key-store.ts';
import { emptyState } from './memory-state.ts';
import { MemoryStatsStore } from './memory-stats-store.ts';

export class MemoryStorage implements Storage {
  readonly jobs: MemoryJobStore;
  readonly schedule: MemoryScheduleStore;
  readonly leases: MemoryLeaseStore;
  readonly members: MemoryMemberStore;
  readonly runs: MemoryRunStore;
  readonly insight: MemoryInsightStore;
  readonly runState: MemoryRunStateStore;
  readonly housekeeping: MemoryHousekeepingStore;
  readonly events: MemoryEventStore;
  readonly stats: MemoryStatsStore;
  readonly generations: MemoryGenerationStore;
  readonly audit: MemoryAuditStore;
  readonly accounts: MemoryAccountStore;
  readonly ownSettings: MemoryOwnSettingsStore;
  readonly signingKeys: MemorySigningKeyStore;
  readonly secrets: MemorySecretStore;
  readonly handlers: MemoryHandlerStore;
  readonly runLogs = new MemoryRunLogStore();

  constructor(options: { clock: Clock }) {
    const state = emptyState(() => options.clock.now());
    this.accounts = new MemoryAccountStore(state);
    this.ownSettings = new MemoryOwnSettingsStore(this.accounts);
    this.signingKeys = new MemorySigningKeyStore(state);
    this.secrets = new MemorySecretStore(state);
    this.handlers = new MemoryHandlerStore(state);
    this.audit = new MemoryAuditStore(state);
    this.jobs = new MemoryJobStore(state);
    this.schedule = new MemoryScheduleStore(state);
    this.leases = new MemoryLeaseStore(state);
    this.members = new MemoryMemberStore(state, options.clock);
    this.runs = new MemoryRunStore(state);
    this.insight = new MemoryInsightStore(state);
    this.runState = new MemoryRunStateStore(state);
    this.housekeeping = new MemoryHousekeepingStore(state);
    this.events = new MemoryEventStore(state);
    this.stats = new MemoryStatsStore(state);
    this.generations = new MemoryGenerationStore(state);
  }
}
