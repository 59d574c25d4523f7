/** What became of a run, line by line: when it was handed to whom, started, ended, and with what. */
import { isFinal, type RunFacts, readStoredResult, waitText } from '@carillon/domain';
import { z } from 'zod';
import { deprecated, instant, instantText } from './answer.ts';
import { resultUrlOf } from './run-logs.ts';

/** Of a result in a line of a log. */
const RESULT_LENGTH_MAX = 500;

const logLine = z
  .strictObject({
    at: instant,
    message: z.string(),
    run_id: z.string(),
    attempt_number: z.int(),
    epoch: z.int().describe('Of the handing-out: an attempt that was lost or given back has several.'),
    timestamp: deprecated(instant, 'at'),
  })
  .meta({ id: 'LogLine' });
export type LogLine = z.output<typeof logLine>;

export const jobLogsAnswer = z
  .strictObject({ job_id: z.string(), logs: z.array(logLine) })
  .meta({ id: 'JobLogs' });
export const runLogsAnswer = z
  .strictObject({ job_id: z.string(), run_id: z.string(), logs: z.array(logLine) })
  .meta({ id: 'RunLogs' });

/** In the order things happened. */
export function logLines(attempts: readonly RunFacts[]): LogLine[] {
  const isRepeated = (run: RunFacts) =>
    attempts.some(
      (other) => other.runId === run.runId && other.attempt === run.attempt && other.epoch < run.epoch,
    );
  return attempts
    .flatMap((run) => linesOf(run, isRepeated(run)))
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.run_id === b.run_id ? a.epoch - b.epoch : 0));
}

/** isRepeated: an attempt of this number was lost or given back before. */
function linesOf(run: RunFacts, isRepeated: boolean): LogLine[] {
  const lines: LogLine[] = [];
  const say = (atMs: number, message: string) => {
    const { runId, attempt, epoch } = run;
    const at = instantText(atMs);
    lines.push({ at, message, run_id: runId, attempt_number: attempt, epoch, timestamp: at });
  };
  const attempt = `attempt ${run.attempt}${isRepeated ? ' (again)' : ''}`;
  const { status, createdAtMs, startedAtMs, endedAtMs, executorId } = run;
  const endMs = endedAtMs ?? run.modifiedAtMs;
  const why = run.waitsFor && waitText(run.waitsFor);
  if (status === 'QUEUED') say(createdAtMs, `queued${why ? `: ${why}` : ''}`);
  else if (status === 'SKIPPED') say(endMs, skipped(run));
  else if (executorId) say(createdAtMs, `handed to worker ${executorId}`);
  if (startedAtMs !== undefined) say(startedAtMs, `${attempt} started`);
  if (!isFinal(status) || status === 'SKIPPED') return lines;
  const took = startedAtMs === undefined ? '' : ` after ${Math.max(0, endMs - startedAtMs) / 1_000} s`;
  say(endMs, `${attempt} ended: ${status}${took}`);
  if (run.error !== undefined) say(endMs, `error: ${run.error}`);
  const stored = readStoredResult(run.result);
  if (stored) say(endMs, `result: ${stored.bytes} bytes, read at ${resultUrlOf(run.runId)}`);
  else if (run.result !== undefined) say(endMs, `result: ${excerpt(run.result)}`);
  return lines;
}

function skipped({ reason, occurrences }: RunFacts): string {
  const what = occurrences > 1 ? `${occurrences} occurrences` : 'an occurrence';
  return `skipped ${what}${reason ? `: ${reason}` : ''}`;
}

function excerpt(text: string): string {
  return text.length <= RESULT_LENGTH_MAX ? text : `${text.slice(0, RESULT_LENGTH_MAX).toWellFormed()}…`;
}
