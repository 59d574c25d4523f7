/** Runs and dead letters for people. */
import type { DeadLetter, Run } from '@carillon/client';
import type { Output } from './output.ts';
import type { Column } from './table.ts';
import { showSpan } from './times.ts';

export function runColumns(out: Output): Column<Run>[] {
  return [
    { header: 'ID', value: ({ run_id }) => run_id, fixed: true },
    { header: 'STATUS', value: ({ status }) => status, fixed: true, paint: (text) => out.state(text) },
    { header: 'TRY', value: (run) => run.attempt_number, fixed: true, right: true },
    { header: 'SCHEDULED', value: (run) => out.shortTime(run.scheduled_at), fixed: true },
    { header: 'TOOK', value: (run) => showSpan(run.start_time, run.end_time), right: true },
    { header: 'ERROR', value: (run) => run.error_message ?? run.reason },
    { header: 'STARTED', value: (run) => out.shortTime(run.start_time), fixed: true },
  ];
}

export function runFacts(run: Run, out: Output): (readonly [string, string | undefined])[] {
  return [
    ['id', run.run_id],
    ['job', run.job_id],
    ['status', run.status],
    ['attempt', String(run.attempt_number)],
    ['trigger', run.trigger],
    ['scheduled', out.time(run.scheduled_at)],
    ['started', out.time(run.start_time)],
    ['ended', out.time(run.end_time)],
    ['took', showSpan(run.start_time, run.end_time)],
    ['worker', run.executor_id ?? undefined],
    ['reason', run.reason ?? undefined],
    ['error', run.error_message ?? undefined],
    ['result', run.result === null ? undefined : JSON.stringify(run.result, null, 2)],
    ['late report', run.late_report ?? undefined],
  ];
}

export function deadLetterColumns(out: Output): Column<DeadLetter>[] {
  return [
    { header: 'ID', value: ({ run_id }) => run_id, fixed: true },
    { header: 'JOB', value: (letter) => letter.job_name ?? letter.job_id },
    { header: 'REASON', value: ({ reason }) => reason, fixed: true },
    { header: 'TRIES', value: ({ attempts }) => attempts, fixed: true, right: true },
    { header: 'DIED', value: (letter) => out.shortTime(letter.died_at), fixed: true },
    { header: 'ERROR', value: (letter) => letter.error_message },
    { header: 'SENT AGAIN AS', value: (letter) => letter.redriven_as },
  ];
}
