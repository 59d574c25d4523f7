/**
 * Brings back an earlier version of a job, as a new version. What it was is told by the audit log: it records what every change
 * replaced, so going back from the job as it is now reaches each version exactly. Credentials are the exception, as the log leaves
 * them out: the job keeps those it has, and the answer names them.
 */
import {
  type Caller,
  DEFINITION_PROPERTIES,
  type Job,
  type JobDefinition,
  type JobId,
  jobShownTo,
  REDACTED,
  Refusal,
  requireMay,
  sameDefinition,
  sameSchedule,
  shownStatus,
} from '@carillon/domain';
import { definitionFrom } from '../../audit/details-text.ts';
import type { JobWithPlan } from '../../storage/job-store.ts';
import { MADE_BY } from '../insight/versions.ts';
import type { OperationPorts } from '../operation-ports.ts';
import { announceChange, announceFirst } from '../support/announce.ts';
import { entriesAbout, entryBytes } from '../support/entries-about.ts';
import { jobCancelled, visibleJob } from '../support/visibility.ts';
import { changeJob, type Decision } from './apply-change.ts';
import { type ChangeOptions, replan } from './change-jobs.ts';
import { comingSkips, type JobDetails, nextRunMs, withOwners } from './list-jobs.ts';

export interface RestoreRequest extends ChangeOptions {
  readonly version: number;
  /** Says what would become of it, and changes nothing. */
  readonly dryRun?: boolean | undefined;
}

export interface RestoredJob extends JobDetails {
  readonly outcome: 'restored' | 'unchanged';
  readonly before: Job;
  /** Where credentials stood that are not recorded, such as payload.headers.authorization. */
  readonly notRecorded: readonly string[];
}

interface Earlier {
  readonly definition: JobDefinition;
  readonly notRecorded: readonly string[];
}

const ENTRIES_PER_READ = 200;
/** Runs that people asked for are entries about the job too. */
const ENTRIES_MAX = 5_000;
/** Of all that is read to find one version. */
const BYTES_MAX = 20_000_000;

export function jobRestoring(ports: OperationPorts) {
  const { storage, clock } = ports;

  async function restoreJob(
    caller: Caller,
    jobId: JobId,
    { version, dryRun = false, ifVersion }: RestoreRequest,
  ): Promise<RestoredJob> {
    let before = await visibleJob(ports, { caller, jobId, action: 'jobs.read' });
    let notRecorded: readonly string[] = [];
    const recorded = { recordedAs: 'jobs.restore', noted: { restoredVersion: version } };
    const request = { caller, jobId, action: 'jobs.update', ...recorded, ifVersion, dryRun } as const;
    const { job, pending } = await changeJob(ports, request, async (read, nowMs) => {
      before = read.job;
      if (before.status === 'CANCELLED') throw jobCancelled(jobId);
      const earlier = await definitionOf(before, version);
      notRecorded = earlier.notRecorded;
      // Or whoever may not read a credential could send it to the address of an earlier version.
      if (notRecorded.length > 0) requireMay(caller, 'payloads.read', before);
      return restoring(read, earlier.definition, nowMs);
    });
    if (!dryRun && pending && job.status === 'SCHEDULED') {
      if (pending.kind === 'replan' && pending.first) announceFirst(ports, [{ job, first: pending.first }]);
      announceChange(ports, job, job.updatedAtMs);
    }
    const nowMs = clock.now();
    const activity = await storage.runs.activityOfJob(jobId, nowMs);
    const details: JobDetails = {
      job: jobShownTo(caller, job),
      status: shownStatus(job.status, activity),
      nextRunMs: nextRunMs(job, nowMs),
      skips: comingSkips(job, nowMs),
      waiting: activity,
    };
    const [shown] = await withOwners(ports, [details]);
    const outcome = pending ? 'restored' : 'unchanged';
    return { ...shown!, outcome, before: jobShownTo(caller, before), notRecorded };
  }

  /** The newest entries are undone first. Those of a change that came after the job was read are not part of it. */
  async function definitionOf(job: Job, wanted: number): Promise<Earlier> {
    let fields: Partial<JobDefinition> = {};
    let beforeId: number | undefined;
    if (wanted === job.version) return earlierOf(job, fields);
    let [looked, bytes] = [0, 0];
    while (wanted < job.version && looked < ENTRIES_MAX && bytes < BYTES_MAX) {
      const { rows, next } = await entriesAbout(ports, {
        ...{ subjectId: job.jobId, limit: ENTRIES_PER_READ, beforeId },
      });
      for (const { action, before, after } of rows) {
        if (!MADE_BY.has(action)) continue;
        const version = action === 'jobs.create' ? 1 : versionIn(after);
        // Written by a server that did not number them.
        if (version === undefined) throw notRecordedAt(job, wanted);
        if (version <= wanted) return earlierOf(job, fields);
        if (version <= job.version && before !== undefined) fields = { ...fields, ...definitionFrom(before) };
      }
      if (next === undefined) break;
      beforeId = next;
      looked += rows.length;
      bytes += rows.reduce((sum, entry) => sum + entryBytes(entry), 0);
    }
    throw notRecordedAt(job, wanted);
  }

  return { restoreJob };
}

/** As an update does: the plan stays where the schedule does, and a job that has ended begins again with another one. */
function restoring(read: JobWithPlan, definition: JobDefinition, nowMs: number): Decision | undefined {
  const { job: current } = read;
  if (sameDefinition(definition, current)) return undefined;
  const job: Job = { ...current, ...definition };
  if (sameSchedule(definition.schedule, current.schedule))
    return { job: { ...job, schedule: current.schedule }, pending: { kind: 'keep' } };
  const { first, skips } = replan(job, { read, nowMs });
  const hasEnded = current.status === 'COMPLETED' || current.status === 'FAILED';
  return {
    job: { ...job, skips, status: hasEnded ? 'SCHEDULED' : job.status },
    pending: { kind: 'replan', first },
  };
}

function versionIn(after: string | undefined): number | undefined {
  const { version } = (after === undefined ? {} : JSON.parse(after)) as { version?: unknown };
  return typeof version === 'number' ? version : undefined;
}

function notRecordedAt(job: Job, version: number): Refusal {
  const message =
    version > job.version
      ? `The job ${job.jobId} is at version ${job.version}; it has no version ${version} yet.`
      : `What version ${version} of the job ${job.jobId} was is not recorded.`;
  return new Refusal('version_not_recorded', message, { field: 'version' });
}

/** The job now, with these fields as they were. */
function earlierOf(job: Job, fields: Partial<JobDefinition>): Earlier {
  const notRecorded: string[] = [];
  const definition: Record<string, unknown> = {};
  for (const name of DEFINITION_PROPERTIES) {
    if (!(name in fields)) definition[name] = job[name];
    else if (name === 'payload') definition.payload = earlierPayload(job, fields.payload, notRecorded);
    else definition[name] = filled(fields[name], job[name], { at: name, notRecorded });
  }
  return { definition: definition as unknown as JobDefinition, notRecorded };
}

function earlierPayload(job: Job, text: string | undefined, notRecorded: string[]): string {
  if (text === undefined) return '{}';
  if (!text.includes(REDACTED)) return text;
  try {
    const was: unknown = JSON.parse(text);
    return JSON.stringify(filled(was, JSON.parse(job.payload), { at: 'payload', notRecorded }));
  } catch {
    // Redaction may have cut it.
    notRecorded.push('payload');
    return job.payload;
  }
}

/** A recorded value, with what the job has now where a credential was left out of the record. */
function filled(was: unknown, is: unknown, told: { at: string; notRecorded: string[] }): unknown {
  if (typeof was === 'string') {
    if (!was.includes(REDACTED)) return was;
    told.notRecorded.push(told.at);
    return is;
  }
  if (typeof was !== 'object' || was === null) return was;
  const now = (typeof is === 'object' && is !== null ? is : {}) as Readonly<Record<string, unknown>>;
  const members = Object.entries(was)
    .map(([name, inner]) => {
      // What stands at the same place of a list may be another thing by now.
      const isSame = !Array.isArray(was) || agrees(was, is);
      const at = `${told.at}.${name}`;
      return [name, filled(inner, isSame ? now[name] : undefined, { ...told, at })] as const;
    })
    .filter(([, inner]) => inner !== undefined);
  return Array.isArray(was) ? members.map(([, inner]) => inner) : Object.fromEntries(members);
}

/** They are equal but for what was left out of the record. */
function agrees(was: unknown, is: unknown): boolean {
  if (typeof was === 'string' && was.includes(REDACTED)) return typeof is === 'string';
  if (typeof was !== 'object' || was === null) return was === is;
  if (typeof is !== 'object' || is === null) return false;
  const [then, now] = [was, is] as Readonly<Record<string, unknown>>[];
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].every((name) =>
    agrees(then![name], now![name]),
  );
}
