/**
 * Every call that is served: those of the table of operations, and the exceptions. An exception is a stream, or a call that is not one
 * operation of REST.
 */
import { rpc } from '@carillon/contract';
import type { Clock } from '@carillon/foundation';
import { protocol } from '@carillon/worker';
import type { Operations } from '../../operations/operations.ts';
import type { WorkerSessions } from '../../worker-home/worker-sessions.ts';
import type { Operation } from '../api/operation.ts';
import type { Readiness } from '../routes/health-routes.ts';
import { bindRpc } from './bind-rpc.ts';
import { eventMethods } from './event-methods.ts';
import { healthMethods } from './health-methods.ts';
import { jobMethods } from './job-methods.ts';
import { reflectionMethods } from './reflection-methods.ts';
import { retrieveAllJobs } from './retrieve-all-jobs.ts';
import type { RpcMethod } from './rpc-method.ts';
import { workerMethods } from './worker-methods.ts';

export interface MethodContext {
  readonly table: readonly Operation[];
  readonly operations: Operations;
  readonly readiness: () => Promise<Readiness>;
  readonly clock: Clock;
  /** Left out: no worker connects here. */
  readonly workers?: Pick<WorkerSessions, 'serve'> | undefined;
}

export function allMethods({ table, operations, readiness, clock, workers }: MethodContext): RpcMethod[] {
  const services = [
    rpc.JobService,
    rpc.AccountService,
    rpc.AuditService,
    rpc.health.Health,
    ...(workers ? [protocol.WorkerService] : []),
  ];
  return [
    ...table.flatMap(bindRpc),
    ...jobMethods(operations),
    retrieveAllJobs({ operations, clock }),
    ...eventMethods({ operations, clock }),
    ...healthMethods({ readiness, clock, services: services.map(({ typeName }) => typeName) }),
    ...reflectionMethods(services),
    ...(workers ? workerMethods(workers) : []),
  ];
}
