/**
 * Everything that can be requested of Carillon, as one object: the gateway (REST, RPC, dashboard) calls these operations and
 * nothing below. Every operation takes its caller first and checks the caller's permissions itself.
 */
import type { Caller } from '@carillon/domain';
import type { ListAuditQuery } from '../audit/audit-log.ts';
import type { ReadEventsQuery, WatchOptions } from '../event-feed/event-feed.ts';
import type { LiveQuery, LiveSink } from '../event-feed/live-feed.ts';
import { signingKeyOperations } from '../outgoing/signing-keys.ts';
import { secretOperations } from '../secrets/secrets.ts';
import type { AuditRecord } from '../storage/audit-store.ts';
import { bulkRunOperations } from './bulk-runs.ts';
import { deadLetterOperations } from './dead-letters.ts';
import { handlerOperations } from './handlers.ts';
import { searchOperations } from './insight/search.ts';
import { stripOperations } from './insight/strips.ts';
import { versionOperations } from './insight/versions.ts';
import { whyOperations } from './insight/why.ts';
import { jobsByKey } from './jobs/apply-job.ts';
import { jobChanges } from './jobs/change-jobs.ts';
import { jobCreation } from './jobs/create-jobs.ts';
import { jobReading } from './jobs/read-jobs.ts';
import { jobRestoring } from './jobs/restore-job.ts';
import type { OperationPorts } from './operation-ports.ts';
import { ownSettingsOperations } from './own-settings.ts';
import { runLogOperations } from './run-logs.ts';
import { runOperations } from './runs.ts';
import { scheduleOperations } from './schedules.ts';
import { statsOperations } from './stats.ts';
import { BulkLanes } from './support/in-parallel.ts';
import { readWithinBytes } from './support/read-within-bytes.ts';
import { workerOperations } from './workers.ts';

export type Operations = ReturnType<typeof createOperations>;

export function createOperations(ports: OperationPorts) {
  const { accounts, events, storage, seal, secretValues, clock, random } = ports;
  const lanes = new BulkLanes();
  return {
    ...jobCreation(ports),
    ...jobReading(ports),
    ...jobChanges(ports, lanes),
    ...jobsByKey(ports),
    ...jobRestoring(ports),
    // biome-ignore lint/nursery/noMisusedPromises: they are an object, which the rule takes for a promise.
    ...runOperations(ports),
    ...bulkRunOperations(ports, lanes),
    ...stripOperations(ports),
    // biome-ignore lint/nursery/noMisusedPromises: they are an object, which the rule takes for a promise.
    ...whyOperations(ports),
    ...versionOperations(ports),
    ...searchOperations(ports),
    ...runLogOperations(ports),
    ...deadLetterOperations(ports, lanes),
    // biome-ignore lint/nursery/noMisusedPromises: they are an object, which the rule takes for a promise.
    ...workerOperations(ports),
    // biome-ignore lint/nursery/noMisusedPromises: they are an object, which the rule takes for a promise.
    ...handlerOperations(ports),
    ...statsOperations(ports),
    ...scheduleOperations(ports),
    ...ownSettingsOperations(ports),
    ...accounts.operations,
    ...signingKeyOperations({
      ...{ store: storage.signingKeys, seal, clock, random },
      namespaces: accounts.namespaces,
    }),
    ...secretOperations({
      ...{ store: storage.secrets, values: secretValues, seal, clock },
      namespaces: accounts.namespaces,
    }),
    listAudit: (caller: Caller, query: ListAuditQuery) => listAudit(ports, caller, query),
    async readEvents(caller: Caller, query: ReadEventsQuery) {
      await accounts.namespaces.requireKnown(caller, query.filter?.namespace);
      return await events.read(caller, query);
    },
    /** Before a stream is opened: refuses a namespace that is not there. */
    requireNamespace: (caller: Caller, name: string | undefined) =>
      accounts.namespaces.requireKnown(caller, name),
    async readLive(caller: Caller, query: LiveQuery) {
      await accounts.namespaces.requireKnown(caller, query.namespace);
      return await events.live.read(caller, query);
    },
    /** Whoever opens it closes it. */
    async watchLive(caller: Caller, query: LiveQuery, sink: LiveSink) {
      await accounts.namespaces.requireKnown(caller, query.namespace);
      return await events.live.open(caller, query, sink);
    },
    /** Whoever opens the stream closes it. */
    watchEvents: (caller: Caller, { filter, after }: WatchOptions = {}) => events.open(caller, filter, after),
  };
}

/** Of others, such as secrets, the id is a name that somebody chose, and may be the id of something else. */
const NAMED_KINDS: ReadonlySet<string> = new Set(['job', 'user', 'key']);

/** Entries may hold a whole job before and after. An entry outlives its namespace, so one that is unknown is a mistake only where nothing is found. */
async function listAudit({ audit, accounts }: OperationPorts, caller: Caller, query: ListAuditQuery) {
  const { rows, next } = await readWithinBytes<AuditRecord, number>({
    limit: query.limit,
    read: async (limit, beforeId = query.beforeId) => {
      const { records: rows, stoppedAt } = await audit.page(caller, {
        ...query,
        limit: limit + 1,
        ...(beforeId !== undefined && { beforeId }),
      });
      return { rows: rows.slice(0, limit), next: rows.length > limit ? rows[limit - 1]!.auditId : stoppedAt };
    },
    bytesOf: ({ before, after }) => (before?.length ?? 0) + (after?.length ?? 0),
    cursorOf: ({ auditId }) => auditId,
  });
  if (rows.length === 0 && next === undefined && query.beforeId === undefined)
    await accounts.namespaces.requireKnown(caller, query.namespace);
  const isNamed = ({ subject }: AuditRecord) => NAMED_KINDS.has(subject.kind);
  const names = await accounts.subjectNames(rows.filter(isNamed).map(({ subject }) => subject.id));
  const nameOf = (entry: AuditRecord) => (isNamed(entry) ? names.get(entry.subject.id) : undefined);
  return { entries: rows.map((entry) => ({ ...entry, subjectName: nameOf(entry) })), next };
}

type WithoutCaller<Operation> = Operation extends (caller: Caller, ...rest: infer Rest) => infer Answer
  ? (...rest: Rest) => Answer
  : never;

export type OperationsOfOne = { [Name in keyof Operations]: WithoutCaller<Operations[Name]> };

/** The operations bound to one caller: for programs that embed the engine, and for tests. */
export function operationsAs(caller: Caller, operations: Operations): OperationsOfOne {
  const bound = Object.entries(operations).map(([name, operation]) => [
    name,
    (...rest: unknown[]) => (operation as (...args: unknown[]) => unknown)(caller, ...rest),
  ]);
  return Object.fromEntries(bound) as OperationsOfOne;
}
