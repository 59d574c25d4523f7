/**
 * Every call that is served: those of the table of operations, and the exceptions. An exception is a stream, or a call that is not one
 * operation of REST.
 */
import { rpc } from '@carillon/contract';
import type { Clock } from '@carillon/foundation';
import { protocol } from '@carillon/worker';
import type { Operations } from '../../operations/operations.ts';
import type { Operation } from '../api/operation.ts';
import type { Readiness } from '../routes/health-routes.ts';
import { bindRpc } from './bind-rpc.ts';
import { eventMethods } from './event-methods.ts';
import { healthMethods } from './health-methods.ts';
import { jobMethods } from './job-methods.ts';
import { reflectionMethods } from './reflection-methods.ts';
import { retrieveAllJobs } from './retrieve-all-jobs.ts';
import type { RpcMethod } from './rpc-method.ts';
import { runMethods } from './run-methods.ts';

export interface MethodContext {
  readonly table: readonly Operation[];
  readonly operations: Operations;
  readonly readiness: () => Promise<Readiness>;
  readonly clock: Clock;
  /** Workers connect here: their service is named with the others. Its call is no part of this list, for every server answers it. */
  readonly takesWorkers?: boolean;
}

export function allMethods({
  table,
  operations,
  readiness,
  clock,
  takesWorkers,
}: MethodContext): RpcMethod[] {
  const services = [
    rpc.JobService,
    rpc.AccountService,
    rpc.AuditService,
    rpc.health.Health,
    ...(takesWorkers ? [protocol.WorkerService] : []),
  ];
  return [
    ...table.flatMap(bindRpc),
    ...jobMethods(operations),
    ...runMethods(operations),
    retrieveAllJobs({ operations, clock }),
    ...eventMethods({ operations, clock }),
    ...healthMethods({ readiness, clock, services: services.map(({ typeName }) => typeName) }),
    ...reflectionMethods(services),
  ];
}
