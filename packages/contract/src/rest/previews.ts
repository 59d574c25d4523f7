/** What a schedule means, as answers show it: in words, its instants, what surprises people, and who else fires then. */
import type { ScheduleType } from '@carillon/domain';
import { z } from 'zod';
import { answerOf, instant, instantText } from './answer.ts';
import { jobAnswer } from './jobs.ts';

interface PreviewFacts {
  readonly description: string;
  readonly schedule: { readonly type: ScheduleType };
  readonly zone: string;
  readonly fires: readonly {
    readonly atMs: number;
    readonly local: string;
    readonly skippedBy: string | undefined;
  }[];
  readonly warnings: readonly {
    readonly kind: 'gap' | 'overlap' | 'fixed_offset';
    readonly message: string;
    readonly atMs: number;
  }[];
  readonly perDay: readonly { readonly date: string; readonly count: number }[];
  readonly othersAt: readonly { readonly atMs: number; readonly count: number; readonly more: boolean }[];
}

const fire = answerOf<PreviewFacts['fires'][number]>()({
  at: [instant, ({ atMs }) => instantText(atMs)],
  local: [z.string().describe('The wall-clock time in the zone, with its offset.'), ({ local }) => local],
  skipped_by: [
    z.string().nullable().describe('Of the job that was named: who has skipped this fire; null: nobody.'),
    ({ skippedBy }) => skippedBy ?? null,
  ],
});
const others = answerOf<PreviewFacts['othersAt'][number]>()({
  at: [instant, ({ atMs }) => instantText(atMs)],
  count: [z.int().describe('Up to 1,000.'), ({ count }) => count],
  more: [z.boolean().describe('True: there are more than were counted.'), ({ more }) => more],
});
const warning = answerOf<PreviewFacts['warnings'][number]>()({
  kind: [z.enum(['gap', 'overlap', 'fixed_offset']), ({ kind }) => kind],
  message: [z.string(), ({ message }) => message],
  at: [instant, ({ atMs }) => instantText(atMs)],
});

export const { answer: previewAnswer, view: previewView } = answerOf<PreviewFacts>('SchedulePreview')({
  description: [z.string(), ({ description }) => description],
  schedule_type: [jobAnswer.shape.schedule_type, ({ schedule }) => schedule.type],
  time_zone: [z.string(), ({ zone }) => zone],
  fires: [z.array(fire.answer), ({ fires }) => fires.map(fire.view)],
  warnings: [z.array(warning.answer), ({ warnings }) => warnings.map(warning.view)],
  per_day: [
    z
      .array(z.strictObject({ date: z.string(), count: z.int() }))
      .describe('How often it fires on each day of the zone, from after to until; empty without until.'),
    ({ perDay }) => perDay.map(({ date, count }) => ({ date, count })),
  ],
  others_at: [
    z
      .array(others.answer)
      .describe(
        'How many other recurring jobs of the namespace fire at the first 50 of these instants, as far as they are known; instants without any are left out. Jobs with a spread start beside them and are not counted.',
      ),
    ({ othersAt }) => othersAt.map(others.view),
  ],
});
