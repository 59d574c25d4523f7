/**
 * The storage on PostgreSQL: every port over one pool, but for heartbeats and outcomes. Those have connections of their own:
 * a server whose pool is busy is not dead, and must not be taken for it; and outcomes wait only briefly for locks, which is
 * set once per connection because the hot path has no round trip to spare for it.
 */
import { Database, type DatabaseOptions } from '../../postgres/database.ts';
import type { Storage } from '../storage.ts';
import { PostgresAccountStore } from './postgres-account-store.ts';
import { PostgresAuditStore } from './postgres-audit-store.ts';
import { PostgresEventStore } from './postgres-event-store.ts';
import { PostgresGenerationStore } from './postgres-generation-store.ts';
import { PostgresHandlerStore } from './postgres-handler-store.ts';
import { PostgresHousekeepingStore } from './postgres-housekeeping-store.ts';
import { PostgresInsightStore } from './postgres-insight-store.ts';
import { PostgresJobStore } from './postgres-job-store.ts';
import { PostgresLeaseStore } from './postgres-lease-store.ts';
import { PostgresMemberStore } from './postgres-member-store.ts';
import { PostgresOwnSettingsStore } from './postgres-own-settings-store.ts';
import { PostgresRunLogStore } from './postgres-run-log-store.ts';
import { PostgresRunStateStore } from './postgres-run-state-store.ts';
import { PostgresRunStore } from './postgres-run-store.ts';
import { PostgresScheduleStore } from './postgres-schedule-store.ts';
import { PostgresSecretStore } from './postgres-secret-store.ts';
import { PostgresSigningKeyStore } from './postgres-signing-key-store.ts';
import { PostgresStatsStore } from './postgres-stats-store.ts';

export interface PostgresStorageOptions extends DatabaseOptions {
  /** Longest a statement about outcomes may wait for one lock. */
  readonly outcomeLockTimeoutMs?: number;
}

export interface PostgresStorage extends Storage {
  /** For other ports on the same connections. */
  readonly database: Database;
  /** For people: all connections, by what they are kept for. */
  connections(): Record<'main' | 'heartbeats' | 'outcomes', Database['connections']>;
  close(): Promise<void>;
}

/** One for the node and its shards, one for its workers. */
const HEARTBEAT_CONNECTIONS = 2;
/** Longer than this, and the next one would do better. */
const HEARTBEAT_MS_MAX = 5_000;
/** Three batches, one of outcomes that were set aside, and one for what is shown to people. */
const OUTCOME_CONNECTIONS = 5;
/** Far longer than a change of a job takes; short enough that those who share a batch with a locked one need not wait. */
const OUTCOME_LOCK_MS_MAX = 200;

export function openPostgresStorage(options: PostgresStorageOptions): PostgresStorage {
  const { outcomeLockTimeoutMs = OUTCOME_LOCK_MS_MAX } = options;
  const database = new Database(options);
  const heartbeats = new Database({
    ...options,
    connectionsMax: HEARTBEAT_CONNECTIONS,
    statementTimeoutMs: Math.min(options.statementTimeoutMs, HEARTBEAT_MS_MAX),
  });
  const outcomes = new Database({
    ...options,
    connectionsMax: OUTCOME_CONNECTIONS,
    lockTimeoutMs: Math.min(options.statementTimeoutMs, outcomeLockTimeoutMs),
  });
  return {
    jobs: new PostgresJobStore(database),
    schedule: new PostgresScheduleStore(database, { outcomes }),
    leases: new PostgresLeaseStore(database, { outcomes }),
    members: new PostgresMemberStore(database, { beats: heartbeats, leases: outcomes }),
    runs: new PostgresRunStore(database),
    insight: new PostgresInsightStore(database),
    runState: new PostgresRunStateStore(database),
    housekeeping: new PostgresHousekeepingStore(database),
    audit: new PostgresAuditStore(database),
    accounts: new PostgresAccountStore(database),
    ownSettings: new PostgresOwnSettingsStore(database),
    signingKeys: new PostgresSigningKeyStore(database),
    secrets: new PostgresSecretStore(database),
    handlers: new PostgresHandlerStore(database),
    runLogs: new PostgresRunLogStore(database),
    database,
    events: new PostgresEventStore(database),
    stats: new PostgresStatsStore(database),
    generations: new PostgresGenerationStore(database),
    connections: () => ({
      main: database.connections,
      heartbeats: heartbeats.connections,
      outcomes: outcomes.connections,
    }),
    close: async () => {
      await Promise.all([database, heartbeats, outcomes].map((pool) => pool.close()));
    },
  };
}
