/** Every call that is served. */
import { rpc } from '@carillon/contract';
import type { Clock } from '@carillon/foundation';
import type { Operations } from '../../operations/operations.ts';
import type { Readiness } from '../routes/health-routes.ts';
import { auditMethods } from './methods/audit-methods.ts';
import { deadLetterMethods } from './methods/dead-letter-methods.ts';
import { eventMethods } from './methods/event-methods.ts';
import { healthMethods } from './methods/health-methods.ts';
import { jobActionMethods } from './methods/job-action-methods.ts';
import { jobMethods } from './methods/job-methods.ts';
import { keyMethods } from './methods/key-methods.ts';
import { logMethods } from './methods/log-methods.ts';
import { namespaceMethods } from './methods/namespace-methods.ts';
import { reflectionMethods } from './methods/reflection-methods.ts';
import { runMethods } from './methods/run-methods.ts';
import { userMethods } from './methods/user-methods.ts';
import { workerMethods } from './methods/worker-methods.ts';
import type { RpcMethod } from './rpc-method.ts';

export interface MethodContext {
  readonly operations: Operations;
  readonly readiness: () => Promise<Readiness>;
  readonly clock: Clock;
}

export function allMethods({ operations, readiness, clock }: MethodContext): RpcMethod[] {
  const services = [rpc.JobService, rpc.AccountService, rpc.AuditService, rpc.health.Health];
  return [
    ...jobMethods(operations),
    ...jobActionMethods(operations),
    ...runMethods(operations),
    ...logMethods(operations),
    ...deadLetterMethods(operations),
    ...workerMethods(operations),
    ...eventMethods({ operations, clock }),
    ...namespaceMethods(operations),
    ...userMethods(operations),
    ...keyMethods(operations),
    ...auditMethods(operations),
    ...healthMethods({ readiness, clock, services: services.map(({ typeName }) => typeName) }),
    ...reflectionMethods(services),
  ];
}
