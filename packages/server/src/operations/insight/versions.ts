/** The versions of a job: who changed what, and when, as the audit log has it. Bounded: an answer looks at some entries and says where to go on. */
import { type Caller, type Job, type JobId, type JobVersion, may, shapeOf } from '@carillon/domain';
import type { AuditRecord } from '../../storage/audit-store.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { entriesAbout } from '../support/entries-about.ts';
import { visibleJob } from '../support/visibility.ts';

export interface ListedVersions {
  readonly versions: readonly JobVersion[];
  /** More may follow before this entry of the audit log. Undefined: this is the end. */
  readonly next: number | undefined;
}

/** Those that make a version; others, such as runs that people ask for, are about the job too. */
export const MADE_BY: ReadonlySet<string> = new Set([
  'jobs.create',
  'jobs.update',
  'jobs.restore',
  'jobs.pause',
  'jobs.resume',
  'jobs.skip',
  'jobs.unskip',
  'jobs.cancel',
]);

/** Other entries about the job may lie between. */
const ENTRIES_MIN = 5;
const READS_MAX = 20;

export function versionOperations(ports: OperationPorts) {
  return {
    /** Newest first. */
    async listVersions(
      caller: Caller,
      jobId: JobId,
      { limit, beforeId }: { limit: number; beforeId?: number | undefined },
    ): Promise<ListedVersions> {
      const job = await visibleJob(ports, { caller, jobId, action: 'jobs.read' });
      const versions: JobVersion[] = [];
      let lookedTo = beforeId;
      for (let reads = 0; reads < READS_MAX; reads += 1) {
        const asked = Math.max(ENTRIES_MIN, limit - versions.length + 1);
        const { rows, next } = await entriesAbout(ports, {
          ...{ subjectId: jobId, limit: asked, beforeId: lookedTo },
        });
        for (const entry of rows) {
          if (versions.length === limit) return { versions, next: lookedTo };
          lookedTo = entry.auditId;
          if (MADE_BY.has(entry.action)) versions.push(versionOf(caller, job, entry));
        }
        if (next === undefined || rows.length < asked) return { versions, next };
      }
      return { versions, next: lookedTo };
    },
  };
}

function versionOf(
  caller: Caller,
  job: Job,
  { action, atMs, actor, auditId, ...entry }: AuditRecord,
): JobVersion {
  const before = fieldsOf(entry.before);
  const { version, restored_version: restored, ...after } = fieldsOf(entry.after);
  const isMade = action === 'jobs.create';
  const shown = payloadShownTo(caller, job);
  const changes = [...new Set([...Object.keys(before), ...Object.keys(after)])].map((field) => ({
    field,
    before: shown(field, before[field]),
    after: shown(field, after[field]),
  }));
  const { kind, id, name } = actor;
  return {
    ...{ atMs, action, actor: { kind, id, name }, changes, auditId },
    version: isMade ? 1 : numberOf(version),
    restoredVersion: numberOf(restored),
  };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function fieldsOf(text: string | undefined): Record<string, unknown> {
  return text === undefined ? {} : (JSON.parse(text) as Record<string, unknown>);
}

/** A payload is recorded as the text that is stored. It is shown as jobs show it. */
function payloadShownTo(caller: Caller, job: Job) {
  const isShown = may(caller, 'payloads.read', job);
  return (field: string, value: unknown): unknown => {
    if (field !== 'payload' || typeof value !== 'string') return value ?? null;
    try {
      return JSON.parse(isShown ? value : shapeOf(value)) as unknown;
    } catch {
      // Redaction may have cut it.
      return isShown ? value : null;
    }
  };
}
