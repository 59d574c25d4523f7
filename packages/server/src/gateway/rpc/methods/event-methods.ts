/**
 * What happened, page by page, and what happens, as it happens. Rights are looked at again while a stream lasts, and a quiet
 * stream shows that it lives.
 */
import { cloudEvent, EVENTS_QUERY, readShape, rpc, toEventsQuery } from '@carillon/contract';
import { writePlace } from '@carillon/domain';
import { type Clock, sleep } from '@carillon/foundation';
import type { Operations } from '../../../operations/operations.ts';
import { HEARTBEAT_MS, RightsCheck } from '../../events/rights-check.ts';
import { type RpcMethod, serverStream, unary } from '../rpc-method.ts';

const { method } = rpc.JobService;
const ALIVE = {};

export function eventMethods({ operations, clock }: { operations: Operations; clock: Clock }): RpcMethod[] {
  return [
    unary(method.listEvents, ['events.read'], async ({ caller, request }) => {
      const { events, through } = await operations.readEvents(caller, eventsAsked(request, request.limit));
      const messages = events.map((event) => rpc.eventMessage(cloudEvent(event)));
      return { events: messages, nextAfterId: writePlace(through) };
    }),
    serverStream(method.watchEvents, ['events.read'], async function* (call) {
      const { caller, request, recognise, signal } = call;
      const events = operations.watchEvents(caller, eventsAsked(request));
      const end = () => events.close();
      signal.addEventListener('abort', end, { once: true });
      const batches = events.batches();
      const rights = new RightsCheck({ events, recognise });
      let recognisedAt = clock.monotonic();
      // Before every message, or a slow reader could go on for as long as a whole batch takes them.
      const requireRights = async () => {
        if (clock.monotonic() - recognisedAt < HEARTBEAT_MS) return;
        recognisedAt = clock.monotonic();
        const refusal = await rights.runOnce();
        if (refusal) throw refusal;
      };
      try {
        // Whoever has the first message misses nothing that they do next.
        await events.placed();
        yield ALIVE;
        let next = batches.next();
        while (!signal.aborted) {
          const batch = await unlessQuiet(next, { clock, signal });
          if (signal.aborted || batch?.done) return;
          await requireRights();
          if (batch === undefined) yield ALIVE;
          else {
            for (const event of batch.value) {
              await requireRights();
              yield { event: rpc.eventMessage(cloudEvent(event)) };
            }
            next = batches.next();
          }
        }
      } finally {
        signal.removeEventListener('abort', end);
        end();
      }
    }),
  ];
}

/** Undefined: nothing came for as long as a heartbeat, or the signal was aborted. */
async function unlessQuiet<T>(
  next: Promise<T>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<T | undefined> {
  const came = new AbortController();
  const quiet = sleep(clock, HEARTBEAT_MS, AbortSignal.any([signal, came.signal])).then(() => undefined);
  try {
    return await Promise.race([next, quiet]);
  } finally {
    came.abort();
  }
}

/** limit: 0 when left out. */
function eventsAsked(request: rpc.WatchEventsRequest | rpc.ListEventsRequest, limit = 0) {
  const given = {
    type: request.types.length === 0 ? undefined : request.types,
    job_id: request.jobId,
    run_id: request.runId,
    namespace: request.namespace,
    user_id: request.userId,
    handler: request.handler,
    last_event_id: request.afterId,
    limit: limit === 0 ? undefined : String(limit),
  };
  const set = Object.entries(given).filter(([, value]) => value !== undefined && value !== '');
  const query = toEventsQuery(readShape(EVENTS_QUERY, Object.fromEntries(set)), undefined);
  const labels = rpc.labelsAsked(request.labels, 'labels');
  return { after: query.after, limit: query.limit, filter: { ...query.filter, ...(labels && { labels }) } };
}
