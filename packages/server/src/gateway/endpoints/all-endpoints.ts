/** Every endpoint below /api, in the order the documentation shows them. */
import type { Endpoint } from '../endpoint.ts';
import { deadLetterEndpoints } from './dead-letter-endpoints.ts';
import type { EndpointContext } from './endpoint-context.ts';
import { jobActionEndpoints } from './job-action-endpoints.ts';
import { jobEndpoints } from './job-endpoints.ts';
import { runEndpoints } from './run-endpoints.ts';

export function allEndpoints(context: EndpointContext): Endpoint[] {
  return [
    ...jobEndpoints(context),
    ...jobActionEndpoints(context),
    ...runEndpoints(context),
    ...deadLetterEndpoints(context),
  ];
}
