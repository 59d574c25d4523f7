/** The ports and services that operations use, so that they run the same over every storage, signal bus and clock. */
import type { Clock, Random, TimeSlices } from '@carillon/foundation';
import type { Accounts } from '../accounts/accounts.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { EventFeed } from '../event-feed/event-feed.ts';
import type { HandlerCatalogue } from '../handlers/handler-catalogue.ts';
import type { Ingest } from '../ingest/ingest.ts';
import type { SecretSeal } from '../outgoing/secret-seal.ts';
import type { RunLogs } from '../run-logs/run-logs.ts';
import type { SecretValues } from '../secrets/secret-values.ts';
import type { SignalBus } from '../signal-bus/signal-bus.ts';
import type { Storage } from '../storage/storage.ts';

export interface OperationPorts {
  readonly storage: Pick<
    Storage,
    | 'jobs'
    | 'runs'
    | 'insight'
    | 'runState'
    | 'members'
    | 'signingKeys'
    | 'secrets'
    | 'handlers'
    | 'stats'
    | 'ownSettings'
  >;
  /** Which payloads handlers take. */
  readonly handlers: HandlerCatalogue;
  readonly audit: AuditLog;
  readonly accounts: Accounts;
  /** For secrets that are needed in full. */
  readonly seal: SecretSeal;
  /** Of this server: a value that was set or removed here is not used any more. */
  readonly secretValues: Pick<SecretValues, 'forget'>;
  readonly events: EventFeed;
  readonly logs: RunLogs;
  readonly ingest: Ingest;
  readonly signals: SignalBus;
  readonly clock: Clock;
  readonly random: Pick<Random, 'id'>;
  /** Counts what has ended, before counts are read; never fails, and takes a bounded time. */
  readonly counter: { countSoon(): Promise<void> };
  /** For computing the occurrences of many schedules, or many of one. */
  readonly slices: Pick<TimeSlices, 'run' | 'runAll'>;
}
