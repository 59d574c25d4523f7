/** What the operations stand on: ports only, so that they run the same over every storage, queue and clock. */
import type { Clock, Random, TimeSlices } from '@carillon/foundation';
import type { Ingest } from '../ingest/ingest.ts';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { Storage } from '../storage/storage.ts';
import type { Accounts } from './accounts/accounts.ts';
import type { AuditLog } from './audit-log.ts';
import type { EventFeed } from './event-feed/event-feed.ts';

export interface OperationPorts {
  readonly storage: Pick<Storage, 'jobs' | 'runs' | 'members' | 'audit' | 'events'>;
  readonly audit: AuditLog;
  readonly accounts: Accounts;
  readonly events: EventFeed;
  readonly ingest: Ingest;
  readonly signals: SignalBus;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Pick<Random, 'id'>;
  /** For what computes occurrences of many schedules, or many of one. */
  readonly slices: Pick<TimeSlices, 'run'>;
}
