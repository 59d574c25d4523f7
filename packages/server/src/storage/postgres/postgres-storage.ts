/** The storage on PostgreSQL: every port over one pool. */
import { Database, type DatabaseOptions } from '../../postgres/database.ts';
import type { Storage } from '../storage.ts';
import { PostgresAuditStore } from './postgres-audit-store.ts';
import { PostgresHousekeepingStore } from './postgres-housekeeping-store.ts';
import { PostgresJobStore } from './postgres-job-store.ts';
import { PostgresLeaseStore } from './postgres-lease-store.ts';
import { PostgresMemberStore } from './postgres-member-store.ts';
import { PostgresRunStore } from './postgres-run-store.ts';
import { PostgresScheduleStore } from './postgres-schedule-store.ts';

export interface PostgresStorage extends Storage {
  close(): Promise<void>;
}

export function openPostgresStorage(options: DatabaseOptions): PostgresStorage {
  const database = new Database(options);
  return {
    jobs: new PostgresJobStore(database),
    schedule: new PostgresScheduleStore(database),
    leases: new PostgresLeaseStore(database),
    members: new PostgresMemberStore(database),
    runs: new PostgresRunStore(database),
    housekeeping: new PostgresHousekeepingStore(database),
    audit: new PostgresAuditStore(database),
    close: () => database.close(),
  };
}
