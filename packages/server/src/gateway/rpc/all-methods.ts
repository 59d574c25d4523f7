/** Every call that is served, in the order of the proto file. */
import { rpc } from '@carillon/contract';
import type { Clock } from '@carillon/foundation';
import type { Operations } from '../../operations/operations.ts';
import type { Readiness } from '../routes/health-routes.ts';
import { eventMethods } from './methods/event-methods.ts';
import { healthMethods } from './methods/health-methods.ts';
import { jobActionMethods } from './methods/job-action-methods.ts';
import { jobMethods } from './methods/job-methods.ts';
import { reflectionMethods } from './methods/reflection-methods.ts';
import { runMethods } from './methods/run-methods.ts';
import type { RpcMethod } from './rpc-method.ts';

export interface MethodContext {
  readonly operations: Operations;
  readonly readiness: () => Promise<Readiness>;
  readonly clock: Clock;
}

export function allMethods({ operations, readiness, clock }: MethodContext): RpcMethod[] {
  const services = [rpc.JobService, rpc.health.Health];
  return [
    ...jobMethods(operations),
    ...jobActionMethods(operations),
    ...runMethods(operations),
    ...eventMethods({ operations, clock }),
    ...healthMethods({ readiness, clock, services: services.map(({ typeName }) => typeName) }),
    ...reflectionMethods(services),
  ];
}
