/**
 * Events, page by page and as a stream. A stream checks the rights of its reader again while it lasts, and sends a heartbeat
 * when nothing happens.
 */
import type { DescMessage } from '@bufbuild/protobuf';
import { cloudEvent, EVENTS_QUERY, type EventsQuery, rpc, toEventsQuery } from '@carillon/contract';
import { refuseValue, writeEventCursor } from '@carillon/domain';
import { type Clock, sleep } from '@carillon/foundation';
import type { Operations } from '../../operations/operations.ts';
import { reading } from '../api/operation.ts';
import { HEARTBEAT_MS, RightsCheck } from '../events/rights-check.ts';
import { readFields } from './bind-rpc.ts';
import { type RpcMethod, serverStream, unary } from './rpc-method.ts';

const { method } = rpc.JobService;
const ALIVE = {};

export function eventMethods({ operations, clock }: { operations: Operations; clock: Clock }): RpcMethod[] {
  return [
    unary(method.listEvents, 'events.read', async ({ caller, request }) => {
      const query = eventsQuery(rpc.ListEventsRequestSchema, request);
      const { events, through } = await operations.readEvents(caller, query);
      const next = writeEventCursor(through);
      return { events: events.map(eventMessage), nextAfterId: next, nextPageToken: next };
    }),
    serverStream(method.watchEvents, 'events.read', async function* (call) {
      const { caller, request, recognise, signal } = call;
      const query = eventsQuery(rpc.WatchEventsRequestSchema, request);
      await operations.requireNamespace(caller, query.filter.namespace);
      const events = operations.watchEvents(caller, query);
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
        await events.ready();
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
              yield { event: eventMessage(event) };
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

const SAME = [
  ['limit', 'page_size'],
  ['after_id', 'page_token'],
] as const;
const EVENTS = reading(EVENTS_QUERY, (read) => toEventsQuery(read, undefined));

function eventsQuery(
  schema: typeof rpc.WatchEventsRequestSchema | typeof rpc.ListEventsRequestSchema,
  request: rpc.WatchEventsRequest | rpc.ListEventsRequest,
): EventsQuery {
  const fields = rpc.fieldsOf(schema as DescMessage, request);
  for (const [one, other] of SAME) {
    if (fields[one] === undefined || fields[other] === undefined) continue;
    refuseValue(other, `${one} and ${other} say the same thing; give only one of them.`, 'field_conflict');
  }
  return readFields(EVENTS, fields, { isQuery: true, cursor: 'cursor' }) as EventsQuery;
}

function eventMessage(event: Parameters<typeof cloudEvent>[0]): rpc.Event {
  return rpc.messageFrom(rpc.EventSchema, cloudEvent(event));
}
