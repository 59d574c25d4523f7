/**
 * Everything that can be requested of Carillon, as one object: the gateway (REST, RPC, dashboard) calls these operations and
 * nothing below. Every operation takes its caller first and checks the caller's permissions itself.
 */
import type { Caller } from '@carillon/domain';
import type { ListAuditQuery } from '../audit/audit-log.ts';
import type { ReadEventsQuery, WatchOptions } from '../event-feed/event-feed.ts';
import { signingKeyOperations } from '../outgoing/signing-keys.ts';
import { deadLetterOperations } from './dead-letters.ts';
import { jobChanges } from './jobs/change-jobs.ts';
import { jobCreation } from './jobs/create-jobs.ts';
import { jobReading } from './jobs/read-jobs.ts';
import type { OperationPorts } from './operation-ports.ts';
import { runOperations } from './runs.ts';
import { scheduleOperations } from './schedules.ts';
import { workerOperations } from './workers.ts';

export type Operations = ReturnType<typeof createOperations>;

export function createOperations(ports: OperationPorts) {
  const { accounts, audit, events, storage, seal, clock, random } = ports;
  return {
    ...jobCreation(ports),
    ...jobReading(ports),
    ...jobChanges(ports),
    ...runOperations(ports),
    ...deadLetterOperations(ports),
    ...workerOperations(ports),
    ...scheduleOperations(ports),
    ...accounts.operations,
    ...signingKeyOperations({
      ...{ store: storage.signingKeys, seal, clock, random },
      requireNamespace: (name) => accounts.namespaces.require(name),
    }),
    listAudit: (caller: Caller, query: ListAuditQuery) => audit.list(caller, query),
    readEvents: (caller: Caller, query: ReadEventsQuery) => events.read(caller, query),
    /** Whoever opens the stream closes it. */
    watchEvents: (caller: Caller, { filter, after }: WatchOptions = {}) => events.open(caller, filter, after),
  };
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
