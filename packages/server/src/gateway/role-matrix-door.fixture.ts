/** The endpoints of REST with a door that lets in whom it is told to: who somebody is, is not the question of the role matrix. */
import { type Caller, Refusal } from '@carillon/domain';
import { silentLog } from '@carillon/foundation';
import fastify, { type InjectOptions } from 'fastify';
import { PrometheusTelemetry } from '../telemetry/prometheus/prometheus-telemetry.ts';
import { answerProblems } from './answer-problems.ts';
import { allOperations } from './api/all-operations.ts';
import { mountRest } from './api/mount-rest.ts';
import type { ApiContext, Operation } from './api/operation.ts';
import { metricsEndpoint } from './metrics-endpoint.ts';
import { readJsonBodies } from './read-input.ts';
import type { Scene } from './role-matrix.fixture.ts';

export function endpointsOf(scene?: Scene): Operation[] {
  return allOperations({
    operations: scene?.fixture.everyones ?? {},
    address: '',
    charge: () => undefined,
    stopping: new AbortController().signal,
    authenticate: async () => {
      throw new Error('nobody is asked twice');
    },
  } as unknown as ApiContext);
}

/** Asks about the scene as a caller; undefined: nobody. */
export function restDoor(scene: Scene) {
  let caller: Caller | undefined;
  const app = fastify();
  const problems = answerProblems(silentLog);
  app.setErrorHandler(problems.onError);
  app.decorateRequest('caller', undefined);
  readJsonBodies(app);
  const authenticate = async () => {
    if (caller) return caller;
    throw new Refusal('unauthorized', 'The request carries no key.');
  };
  mountRest(app, endpointsOf(scene), { authenticate, address: '' });
  metricsEndpoint(app, {
    ...{ telemetry: new PrometheusTelemetry({ clock: scene.fixture.clock }), authenticate },
    open: false,
  });
  return async (asked: InjectOptions, asking: Caller | undefined) => {
    caller = asking;
    const { statusCode: status, body } = await app.inject(asked);
    return { status, body };
  };
}
