/**
 * The truth: everything that must survive, behind narrow ports. An adapter gives all of them over one set of data. Calls
 * either happen whole or not at all; a call that fails with StorageUnavailable may or may not have happened, and every
 * caller is written for both. One that fails with StorageTimeout did not happen.
 */
import type { AccountStore } from './account-store.ts';
import type { AuditStore } from './audit-store.ts';
import type { EventStore } from './event-store.ts';
import type { GenerationStore } from './generation-store.ts';
import type { HandlerStore } from './handler-store.ts';
import type { HousekeepingStore } from './housekeeping-store.ts';
import type { InsightStore } from './insight-store.ts';
import type { JobStore } from './job-store.ts';
import type { LeaseStore } from './lease-store.ts';
import type { MemberStore } from './member-store.ts';
import type { OwnSettingsStore } from './own-settings-store.ts';
import type { RunLogStore } from './run-log-store.ts';
import type { RunStateStore } from './run-state-store.ts';
import type { RunStore } from './run-store.ts';
import type { ScheduleStore } from './schedule-store.ts';
import type { SecretStore } from './secret-store.ts';
import type { SigningKeyStore } from './signing-key-store.ts';
import type { StatsStore } from './stats-store.ts';

export interface Storage {
  readonly jobs: JobStore;
  readonly schedule: ScheduleStore;
  readonly leases: LeaseStore;
  readonly members: MemberStore;
  readonly runs: RunStore;
  readonly insight: InsightStore;
  readonly runState: RunStateStore;
  readonly housekeeping: HousekeepingStore;
  readonly audit: AuditStore;
  readonly accounts: AccountStore;
  readonly ownSettings: OwnSettingsStore;
  readonly signingKeys: SigningKeyStore;
  readonly secrets: SecretStore;
  readonly handlers: HandlerStore;
  readonly runLogs: RunLogStore;
  readonly events: EventStore;
  readonly stats: StatsStore;
  readonly generations: GenerationStore;
}

/** The database did not answer, or broke off: the world's fault, worth another try. */
export class StorageUnavailable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StorageUnavailable';
  }
}

/**
 * The database is there and refuses the call whatever its values are: a table or a right is missing, as in the middle of an upgrade,
 * or something is damaged. Nothing happened. It may go through once somebody has put that right.
 */
export class StorageUnfit extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StorageUnfit';
  }
}

/** A text holds what no database can hold, such as U+0000. Nothing happened. */
export class TextUnstorable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'TextUnstorable';
  }
}

/**
 * The database is there, but this call ran or waited for a lock too long, and was undone. Another call may go through
 * at once: what slows this one down may be a single row.
 */
export class StorageTimeout extends Error {
  /** For people: what shows them whom the call may have waited for. */
  readonly look: string | undefined;

  constructor(message: string, options?: { cause?: unknown; look?: string }) {
    super(message, options);
    this.name = 'StorageTimeout';
    this.look = options?.look;
  }
}
