/** Every endpoint below /api, in the order the documentation shows them. */
import type { Endpoint } from '../endpoint.ts';
import { auditEndpoints } from './audit-endpoints.ts';
import { bulkEndpoints } from './bulk-endpoints.ts';
import { deadLetterEndpoints } from './dead-letter-endpoints.ts';
import type { EndpointContext } from './endpoint-context.ts';
import { eventEndpoints } from './event-endpoints.ts';
import { jobActionEndpoints } from './job-action-endpoints.ts';
import { jobEndpoints } from './job-endpoints.ts';
import { jobListEndpoints } from './job-list-endpoints.ts';
import { keyEndpoints } from './key-endpoints.ts';
import { namespaceEndpoints } from './namespace-endpoints.ts';
import { openapiEndpoints } from './openapi-endpoints.ts';
import { runEndpoints } from './run-endpoints.ts';
import { scheduleEndpoints } from './schedule-endpoints.ts';
import { sessionEndpoints } from './session-endpoints.ts';
import { userEndpoints } from './user-endpoints.ts';
import { workerEndpoints } from './worker-endpoints.ts';

export function allEndpoints(context: EndpointContext): Endpoint[] {
  const endpoints = [
    ...jobEndpoints(context),
    ...jobListEndpoints(context),
    ...jobActionEndpoints(context),
    ...bulkEndpoints(context),
    ...scheduleEndpoints(context),
    ...runEndpoints(context),
    ...deadLetterEndpoints(context),
    ...workerEndpoints(context),
    ...eventEndpoints(context),
    ...sessionEndpoints(context),
    ...keyEndpoints(context),
    ...namespaceEndpoints(context),
    ...userEndpoints(context),
    ...auditEndpoints(context),
  ];
  endpoints.push(...openapiEndpoints(() => endpoints));
  return endpoints;
}
