/**
 * The id of the run of an occurrence: derived from job and nominal instant, so that the same occurrence always carries the same
 * idempotency key, whoever fires it and after whatever restore. It begins with the instant, as ids of UUID version 7 do, so ids
 * made one after the other lie beside each other in an index; the rest is what makes the job's own id unique. The
 * first run of a one-off has the id of the job itself.
 */
import type { JobId, RunId } from '../ids.ts';

const VERSION_AT = 14;

export function occurrenceRunId(jobId: JobId, nominalMs: number): RunId {
  const instant = Math.max(0, nominalMs).toString(16).padStart(12, '0');
  // Version 8 of RFC 9562: made by a rule of one's own.
  return `${instant.slice(0, 8)}-${instant.slice(8, 12)}-8${jobId.slice(VERSION_AT + 1)}` as RunId;
}
