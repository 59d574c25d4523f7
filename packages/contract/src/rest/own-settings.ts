/** What people keep for themselves: views of lists, and preferences. */
import {
  BROWSER_ZONE,
  COLOUR_SCHEMES,
  JOB_ZONE,
  type Preferences,
  parseZone,
  type SavedView,
  VIEW_FILTER_LENGTH_MAX,
  VIEW_FILTERS_MAX,
  VIEW_NAME_LENGTH_MAX,
  VIEW_SCREENS,
} from '@carillon/domain';
import { z } from 'zod';
import { answerOf, instant, instantText } from './answer.ts';
import type { Shape } from './shape.ts';
import { textUpTo } from './values.ts';

const filter = textUpTo(VIEW_FILTER_LENGTH_MAX);

export const VIEW_BODY = {
  schema: z.strictObject({
    screen: z.enum(VIEW_SCREENS),
    name: textUpTo(VIEW_NAME_LENGTH_MAX)
      .transform((name) => name.trim())
      .refine((name) => name !== '', { error: 'is empty' })
      .describe('Each name once per screen.'),
    query: z
      .record(filter, filter, { error: 'must be an object of texts' })
      .refine((query) => Object.keys(query).length <= VIEW_FILTERS_MAX, {
        error: `has more than ${VIEW_FILTERS_MAX} filters`,
      })
      .describe('The query of the address of the screen: filters and order.'),
  }),
} satisfies Shape;

export const { answer: viewAnswer, view: viewView } = answerOf<SavedView>('SavedView')({
  view_id: [z.uuid(), (view) => view.viewId],
  screen: [z.enum(VIEW_SCREENS), (view) => view.screen],
  name: [z.string(), (view) => view.name],
  query: [
    z.record(z.string(), z.string()).describe('The query of the address of the screen: filters and order.'),
    (view) => ({ ...view.query }),
  ],
  updated_at: [instant, (view) => instantText(view.updatedAtMs)],
});

export const PREFERENCES_BODY = {
  schema: z.strictObject({
    zone: textUpTo(100)
      .nullish()
      .describe(
        'The IANA name of the zone that times are shown in; `local`: that of the browser; `job`: that of the schedule where a page is about one job, otherwise that of the browser.',
      ),
    scheme: z.enum(COLOUR_SCHEMES).nullish(),
    shortcuts: z.boolean().nullish().describe('Whether keys are shortcuts.'),
  }),
} satisfies Shape;

export function toPreferences(read: z.output<typeof PREFERENCES_BODY.schema>): Preferences {
  return {
    zone: read.zone == null ? undefined : zoneChoice(read.zone),
    scheme: read.scheme ?? undefined,
    shortcuts: read.shortcuts ?? undefined,
  };
}

function zoneChoice(given: string): string {
  return given === BROWSER_ZONE || given === JOB_ZONE ? given : parseZone(given, { field: 'zone' });
}

export const { answer: preferencesAnswer, view: preferencesView } = answerOf<Preferences>('Preferences')({
  zone: [z.string().nullable().describe('null: never chosen.'), ({ zone }) => zone ?? null],
  scheme: [z.enum(COLOUR_SCHEMES).nullable(), ({ scheme }) => scheme ?? null],
  shortcuts: [z.boolean().nullable(), ({ shortcuts }) => shortcuts ?? null],
});
