/**
 * The client and the command have types and limits of their own, so that they need nothing of the server; here they are
 * held against what the server says.
 */
import { expect, expectTypeOf, test } from 'vitest';
import type { z } from 'zod';
import { PAGE_MAX } from '../../packages/cli/src/commands/actions.ts';
import { PART_MAX } from '../../packages/cli/src/commands/many-ids.ts';
import type * as client from '../../packages/client/src/index.ts';
import { BATCH_JOBS_MAX } from '../../packages/client/src/resources/jobs.ts';
import { SILENCE_MS_MAX } from '../../packages/client/src/wire/follow-stream.ts';
import * as contract from '../../packages/contract/src/index.ts';
import { HEARTBEAT_MS } from '../../packages/server/src/gateway/events/rights-check.ts';

type Said<Schema extends z.ZodType> = z.output<Schema>;
type Taken<Shape extends { schema: z.ZodType }> = z.input<Shape['schema']>;

test('what the server answers is what the client says it gets', () => {
  expectTypeOf<Said<typeof contract.jobAnswer>>().toExtend<client.Job>();
  expectTypeOf<Said<typeof contract.jobStatusAnswer>>().toExtend<client.JobStatusReport>();
  expectTypeOf<Said<typeof contract.batchAnswer>[number]>().toExtend<client.BatchAnswer>();
  expectTypeOf<Said<typeof contract.jobRemovedAnswer>>().toExtend<client.JobRemoved>();
  expectTypeOf<Said<typeof contract.jobActedAnswer>>().toExtend<client.JobChanged>();
  expectTypeOf<Said<typeof contract.upcomingAnswer>>().toExtend<client.UpcomingRun>();
  expectTypeOf<Said<typeof contract.bulkAnswer>>().toExtend<client.BulkReport>();
  expectTypeOf<Said<typeof contract.runDetailsAnswer>>().toExtend<client.RunWithAttempts>();
  expectTypeOf<Said<typeof contract.checkpointAnswer>>().toExtend<client.CheckpointValue>();
  expectTypeOf<Said<typeof contract.runAddedAnswer>>().toExtend<client.RunAdded>();
  expectTypeOf<Said<typeof contract.runCancelledAnswer>>().toExtend<client.RunCancelled>();
  expectTypeOf<Said<typeof contract.runLogsAnswer>>().toExtend<client.Logs>();
  expectTypeOf<Said<typeof contract.jobLogsAnswer>>().toExtend<client.Logs>();
  expectTypeOf<Said<typeof contract.deadLetterAnswer>>().toExtend<client.DeadLetter>();
  expectTypeOf<Said<typeof contract.redrivenAnswer>>().toExtend<client.Redriven>();
  expectTypeOf<Said<typeof contract.redriveReportAnswer>>().toExtend<client.RedriveManyReport>();
  expectTypeOf<Said<typeof contract.previewAnswer>>().toExtend<client.SchedulePreview>();
  expectTypeOf<Said<typeof contract.workerAnswer>>().toExtend<client.Worker>();
  expectTypeOf<Said<typeof contract.handlerAnswer>>().toExtend<client.Handler>();
  expectTypeOf<Said<typeof contract.eventAnswer>>().toExtend<client.CarillonEvent>();
  expectTypeOf<Said<typeof contract.userAnswer>>().toExtend<client.User>();
  expectTypeOf<Said<typeof contract.keyAnswer>>().toExtend<client.ApiKey>();
  expectTypeOf<Said<typeof contract.createdKeyAnswer>>().toExtend<client.CreatedKey>();
  expectTypeOf<Said<typeof contract.namespaceAnswer>>().toExtend<client.Namespace>();
  expectTypeOf<Said<typeof contract.callerAnswer>>().toExtend<client.Whoami>();
  expectTypeOf<Said<typeof contract.signedInAnswer>>().toExtend<client.SignedIn>();
  expectTypeOf<Said<typeof contract.auditAnswer>>().toExtend<client.AuditEntry>();
});

test('what the client sends is known to the server', () => {
  expectTypeOf<keyof client.NewJob>().toEqualTypeOf<keyof Taken<typeof contract.JOB_BODY>>();
  expectTypeOf<keyof client.PreviewRequest>().toEqualTypeOf<keyof Taken<typeof contract.PREVIEW_BODY>>();
  expectTypeOf<keyof client.BulkRequest>().toEqualTypeOf<keyof Taken<typeof contract.BULK_BODY>>();
  expectTypeOf<keyof client.RedriveManyRequest>().toEqualTypeOf<keyof Taken<typeof contract.REDRIVE_BODY>>();
  expectTypeOf<keyof client.NewUser>().toEqualTypeOf<keyof Taken<typeof contract.USER_BODY>>();
  expectTypeOf<keyof client.UserChange>().toEqualTypeOf<keyof Taken<typeof contract.USER_CHANGE>>();
  expectTypeOf<keyof client.NewKey>().toEqualTypeOf<keyof Taken<typeof contract.KEY_BODY>>();
  expectTypeOf<
    Exclude<keyof client.JobFilter, keyof Taken<typeof contract.JOBS_QUERY>>
  >().toEqualTypeOf<never>();
  expectTypeOf<
    Exclude<keyof client.AuditFilter, keyof Taken<typeof contract.AUDIT_QUERY>>
  >().toEqualTypeOf<never>();
  expectTypeOf<
    Exclude<keyof client.DeadLetterFilter, keyof Taken<typeof contract.DEAD_LETTERS_QUERY>>
  >().toEqualTypeOf<never>();
});

test('limits that are copied are those of the server', () => {
  expect(BATCH_JOBS_MAX).toBe(contract.BATCH_JOBS_MAX);
  expect(PAGE_MAX).toBe(contract.LIMIT_MAX);
  const redrives = (limit: number) => contract.REDRIVE_BODY.schema.safeParse({ filter: {}, limit }).success;
  expect([redrives(PART_MAX), redrives(PART_MAX + 1)]).toEqual([true, false]);
  // Two beats may be late before a stream is given up.
  expect(SILENCE_MS_MAX).toBe(3 * HEARTBEAT_MS);
});
