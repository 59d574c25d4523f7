/** Live updates: what a page may ask for, and how it is told what to read again. */
import { type EventCursor, writeEventCursor } from '@carillon/domain';
import { z } from 'zod';
import { answerOf, instant, instantText } from './answer.ts';
import { readEventId } from './events.ts';
import type { Shape } from './shape.ts';
import { text } from './values.ts';

const liveFields = z.strictObject({
  namespace: text.optional().describe('Left out: every one that you may see.'),
  last_event_id: text
    .optional()
    .describe('The id of the last update you got: what changed since follows. The header does the same.'),
});

export const LIVE_QUERY = { schema: liveFields } satisfies Shape;

export function toLiveQuery(
  read: z.output<typeof liveFields>,
  header: string | readonly string[] | undefined,
): { namespace: string | undefined; after: EventCursor | undefined } {
  return {
    namespace: read.namespace,
    after:
      readEventId([header].flat()[0] || undefined, 'Last-Event-ID') ??
      readEventId(read.last_event_id, 'last_event_id'),
  };
}

interface LiveFacts {
  readonly position: EventCursor | undefined;
  readonly asOfMs: number;
  readonly jobs: readonly string[];
  readonly runs: readonly string[];
  readonly workers: boolean;
  readonly deadLetters: boolean;
  readonly refetch: boolean;
}

const changed = answerOf<LiveFacts>()({
  jobs: [
    z.array(z.string()).readonly().describe('Those that changed, and those of the runs that did.'),
    ({ jobs }) => jobs,
  ],
  runs: [z.array(z.string()).readonly(), ({ runs }) => runs],
  workers: [z.boolean().describe('Workers or servers came or went.'), ({ workers }) => workers],
  dead_letters: [z.boolean(), ({ deadLetters }) => deadLetters],
});

export const { answer: liveAnswer, view: liveView } = answerOf<LiveFacts>('LiveUpdate')({
  id: [
    z.string().nullable().describe('For Last-Event-ID; null: the one before still holds.'),
    ({ position }) => (position ? writeEventCursor(position) : null),
  ],
  as_of: [instant, ({ asOfMs }) => instantText(asOfMs)],
  changed: [changed.answer, changed.view],
  refetch: [
    z.boolean().describe('More changed than is named: read again what is shown.'),
    ({ refetch }) => refetch,
  ],
});

/** One update as a message of a stream. */
export function liveMessage(update: LiveFacts): string {
  const view = liveView(update);
  const id = view.id === null ? '' : `id: ${view.id}\n`;
  return `${id}data: ${JSON.stringify(view)}\n\n`;
}
