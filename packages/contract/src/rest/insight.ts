/** Why something does not run, what is found by a search, strips of outcomes and versions of a job: queries and answers. */
import {
  HIT_KINDS,
  HITS_MAX,
  type Holder,
  type JobId,
  type JobVersion,
  REASON_CODES,
  type Reason,
  Refusal,
  RUN_STATUSES,
  type RunId,
  type RunStatus,
  refuseValue,
  type SearchHit,
  type SearchResult,
  STRIP_JOBS_MAX,
  STRIP_RUNS_MAX,
  WHY_STATES,
  type Why,
} from '@carillon/domain';
import { z } from 'zod';
import { answerOf, instant, instantText } from './answer.ts';
import type { Shape } from './shape.ts';
import { count, cursor, paging, readCursor, readId, textUpTo } from './values.ts';

const holder = answerOf<Holder>()({
  run_id: [z.uuid(), ({ runId }) => runId],
  job_id: [z.uuid(), ({ jobId }) => jobId],
  worker_id: [
    z.string().nullable().describe('Null: it may start, and was not handed to a worker yet.'),
    ({ workerId }) => workerId ?? null,
  ],
});

const reason = answerOf<Reason>('WhyReason')({
  code: [z.enum(REASON_CODES), ({ code }) => code],
  text: [z.string().describe('What is the matter, in plain sentences.'), ({ text }) => text],
  since_at: [instant.nullable(), ({ sinceMs }) => instantText(sinceMs)],
  until_at: [
    instant.nullable().describe('When it ends by itself, where that is known.'),
    ({ untilMs }) => instantText(untilMs),
  ],
  held_by: [
    z.array(holder.answer).describe('The runs that hold what it waits for, at most ten.'),
    ({ heldBy }) => heldBy.map(holder.view),
  ],
  fix: [
    z.string().nullable().describe('What a person can do; null: nothing needs to be done.'),
    ({ fix }) => fix ?? null,
  ],
});

export const { answer: whyAnswer, view: whyView } = answerOf<Why>('Why')({
  state: [z.enum(WHY_STATES), ({ state }) => state],
  text: [z.string().describe('The first reason: what matters most.'), ({ reasons }) => reasons[0]!.text],
  reasons: [z.array(reason.answer), ({ reasons }) => reasons.map(reason.view)],
  position: [
    z
      .int()
      .nullable()
      .describe(
        'Of a run that waits, counted from 1 and up to 1,001: behind the limit of its job among the runs of the job, else among those of the same owner, handler and priority.',
      ),
    ({ position }) => position ?? null,
  ],
  estimated_start_at: [
    instant
      .nullable()
      .describe('When it is due, or a guess from how long the latest runs of the job took; null: unknown.'),
    ({ estimatedStartMs }) => instantText(estimatedStartMs),
  ],
});

const jobIds = z
  .union([z.string(), z.array(z.string())], { error: 'must be ids of jobs, with commas' })
  .transform((given) => [given].flat().flatMap((part) => part.split(',').map((id) => id.trim())))
  .refine((given) => given.length <= STRIP_JOBS_MAX, { error: `names more than ${STRIP_JOBS_MAX} jobs` })
  .describe(`Ids of up to ${STRIP_JOBS_MAX} jobs, separated by commas.`)
  .meta({ anyOf: undefined, type: 'array', items: { type: 'string', format: 'uuid' } });

export const STRIPS_QUERY = {
  schema: z.strictObject({
    ids: jobIds,
    runs: count(STRIP_RUNS_MAX).default(20).describe('Runs of each job; 20 when left out.'),
  }),
} satisfies Shape;

export function toStripsQuery({ ids, runs }: z.output<typeof STRIPS_QUERY.schema>) {
  const jobIds = ids.map((id) => {
    try {
      return readId(id, 'job') as JobId;
    } catch (error) {
      const message = 'ids must be ids of jobs, UUIDs such as 01893f2e-7c11-7b3a-9d4e-5a6b7c8d9e0f.';
      throw new Refusal('field_invalid', message, { field: 'ids', cause: error });
    }
  });
  return { jobIds, runs };
}

interface StripRunFacts {
  readonly runId: RunId;
  readonly status: RunStatus;
  readonly attempt: number;
  readonly scheduledAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number | undefined;
}

const stripRun = answerOf<StripRunFacts>('StripRun')({
  run_id: [z.uuid(), ({ runId }) => runId],
  status: [z.enum(RUN_STATUSES), ({ status }) => status],
  scheduled_at: [instant, ({ scheduledAtMs }) => instantText(scheduledAtMs)],
  started_at: [instant.nullable(), ({ startedAtMs }) => instantText(startedAtMs)],
  ended_at: [instant.nullable(), ({ endedAtMs }) => instantText(endedAtMs)],
  duration_ms: [
    z.number().nullable().describe('From start to end; null while it runs, and where it never started.'),
    ({ startedAtMs, endedAtMs }) =>
      startedAtMs === undefined || endedAtMs === undefined ? null : Math.max(0, endedAtMs - startedAtMs),
  ],
  attempt: [z.int(), ({ attempt }) => attempt],
});

interface StripFacts {
  readonly jobId: JobId;
  readonly runs: readonly StripRunFacts[];
}

const strip = answerOf<StripFacts>('Strip')({
  job_id: [z.uuid(), ({ jobId }) => jobId],
  runs: [
    z.array(stripRun.answer).describe('The newest first; of a run that was tried again, its latest attempt.'),
    ({ runs }) => runs.map(stripRun.view),
  ],
});

export const { answer: stripsAnswer, view: stripsView } = answerOf<readonly StripFacts[]>('Strips')({
  strips: [
    z.array(strip.answer).describe('In the order of the ids; jobs that the caller may not see are left out.'),
    (strips) => strips.map(strip.view),
  ],
});

export const SEARCH_QUERY = {
  schema: z.strictObject({
    q: textUpTo(200).describe(
      'An id, the first 8 or more digits of one, or a name: of a job (its beginning, or a part of it), its key, a worker, a user or a namespace.',
    ),
  }),
} satisfies Shape;

const hit = answerOf<SearchHit>('SearchHit')({
  kind: [z.enum(HIT_KINDS), ({ kind }) => kind],
  id: [z.string(), ({ id }) => id],
  title: [z.string(), ({ title }) => title],
  detail: [z.string(), ({ detail }) => detail],
  namespace: [z.string().nullable(), ({ namespace }) => namespace ?? null],
});

export const { answer: searchAnswer, view: searchView } = answerOf<SearchResult>('SearchResult')({
  hits: [
    z.array(hit.answer).describe(`At most ${HITS_MAX}, the best first.`),
    ({ hits }) => hits.map(hit.view),
  ],
  partial: [
    z
      .boolean()
      .describe(
        'More may match: there were too many, or names were looked for among the newest 10,000 jobs of what the caller sees and there are more.',
      ),
    ({ partial }) => partial,
  ],
});

export const VERSIONS_QUERY = { schema: z.strictObject({ cursor, limit: paging.limit }) } satisfies Shape;

export function toVersionsQuery(read: z.output<typeof VERSIONS_QUERY.schema>) {
  const beforeId = readCursor(read, (text) =>
    /^\d{1,15}$/.test(text) ? Number(text) : refuseValue('cursor', 'cursor has another form.'),
  );
  return { limit: read.limit, beforeId };
}

const change = z.strictObject({
  field: z.string().describe('Under the name that it has in the audit log.'),
  before: z.unknown(),
  after: z.unknown(),
});

export const { answer: versionAnswer, view: versionView } = answerOf<JobVersion>('JobVersion')({
  version: [
    z.int().nullable().describe('Null: it was made by a server that did not record it.'),
    ({ version }) => version ?? null,
  ],
  restored_version: [
    z.int().nullable().describe('The earlier version that it brought back.'),
    ({ restoredVersion }) => restoredVersion ?? null,
  ],
  at: [instant, ({ atMs }) => instantText(atMs)],
  action: [z.string().describe('Such as jobs.update or jobs.pause.'), ({ action }) => action],
  actor: [
    z.strictObject({ kind: z.enum(['server', 'user', 'key']), id: z.string(), name: z.string() }),
    ({ actor: { kind, id, name } }) => ({ kind, id, name }),
  ],
  changes: [
    z.array(change).describe('Values of a payload are hidden from callers without payloads.read.'),
    ({ changes }) => changes.map(({ field, before, after }) => ({ field, before, after })),
  ],
});
