/** The preview of a schedule: the fields of a job that make its schedule, and what they mean in words and instants. */
import { type JobInput, parseInstant, SCHEDULE_FIELDS } from '@carillon/domain';
import { z } from 'zod';
import { inputShape, toInput } from './field-schemas.ts';
import { instantText } from './instant-text.ts';
import { JOB_BODY } from './job-body.ts';
import type { Shape } from './shape.ts';

const COUNT_MAX = 100;
const countError = `must be a whole number from 1 to ${COUNT_MAX}`;

const scheduleFields = inputShape(SCHEDULE_FIELDS);

export const PREVIEW_BODY = {
  schema: z.strictObject({
    ...scheduleFields,
    count: z
      .int({ error: countError })
      .min(1, { error: countError })
      .max(COUNT_MAX, { error: countError })
      .nullish()
      .describe('How many instants to show; 5 when left out.'),
    after: scheduleFields.start_at.describe('Count from here instead of from now.'),
  }),
  aliases: JOB_BODY.aliases,
} satisfies Shape;

export function toPreviewRequest(read: z.output<typeof PREVIEW_BODY.schema>): {
  schedule: JobInput;
  count: number;
  afterMs: number | undefined;
} {
  const { count, after, ...schedule } = read;
  return {
    schedule: toInput(SCHEDULE_FIELDS, schedule),
    count: count ?? 5,
    afterMs: after == null ? undefined : parseInstant(after, { field: 'after' }),
  };
}

export const previewAnswer = z
  .strictObject({
    description: z.string(),
    schedule_type: z.enum(['IMMEDIATE', 'FUTURE', 'CRON', 'INTERVAL']),
    time_zone: z.string(),
    fires: z.array(
      z.strictObject({
        at: z.iso.datetime(),
        local: z.string().describe('The wall-clock time in the zone, with its offset.'),
      }),
    ),
    warnings: z.array(
      z.strictObject({ kind: z.enum(['gap', 'overlap']), message: z.string(), at: z.iso.datetime() }),
    ),
  })
  .meta({ id: 'SchedulePreview' });

export function previewView(preview: {
  readonly description: string;
  readonly schedule: { readonly type: 'IMMEDIATE' | 'FUTURE' | 'CRON' | 'INTERVAL' };
  readonly zone: string;
  readonly fires: readonly { readonly atMs: number; readonly local: string }[];
  readonly warnings: readonly {
    readonly kind: 'gap' | 'overlap';
    readonly message: string;
    readonly atMs: number;
  }[];
}): z.output<typeof previewAnswer> {
  return {
    description: preview.description,
    schedule_type: preview.schedule.type,
    time_zone: preview.zone,
    fires: preview.fires.map(({ atMs, local }) => ({ at: instantText(atMs), local })),
    warnings: preview.warnings.map(({ kind, message, atMs }) => ({ kind, message, at: instantText(atMs) })),
  };
}
