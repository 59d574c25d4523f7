/** Jobs: create, read, change, stop; and what a schedule would do before any job has it. */
import type {
  BatchAnswer,
  BulkReport,
  BulkRequest,
  Job,
  JobApplied,
  JobChanged,
  JobCreated,
  JobFields,
  JobFilter,
  JobRemoved,
  JobRestored,
  JobStatusReport,
  JobVersion,
  KeyedJob,
  ListedJob,
  Logs,
  NewJob,
  PreviewRequest,
  RunAdded,
  RunRequest,
  SchedulePreview,
  ShortRun,
  Strip,
  UpcomingRun,
  Why,
} from '../generated/types.ts';
import type { List } from '../wire/list.ts';
import { type CallOptions, type CreateOptions, randomKey } from '../wire/transport.ts';
import { type PageQuery, path, Resource, type RunPageQuery } from './resource.ts';

export interface UpdateOptions extends CallOptions {
  /** Leaves the job alone when it has another version by now. */
  readonly ifVersion?: number | undefined;
}

export interface ApplyOptions extends CallOptions {
  /** Only says what would be done. */
  readonly dryRun?: boolean | undefined;
}

/** What the server takes in one request. */
export const BATCH_JOBS_MAX = 1_000;

export class Jobs extends Resource {
  /** Once it has answered, the job is stored and will run. */
  async create(job: NewJob, options: CreateOptions = {}): Promise<JobCreated> {
    const { body, status } = await this.transport.createAnswer<JobChanged>('/jobs', job, options);
    return { ...body, created: status === 201 };
  }

  /**
   * One answer per job, in order; a bad one harms no other. Any number: they are sent a thousand at a time. atomic: all or none,
   * in one request, which bounds them to a thousand; what is wrong with any of them is thrown.
   */
  async createMany(
    jobs: readonly NewJob[],
    { atomic = false, ...options }: CreateOptions & { readonly atomic?: boolean } = {},
  ): Promise<BatchAnswer[]> {
    if (atomic) {
      if (jobs.length === 0) return [];
      return this.transport.create('/jobs/batch', { jobs, atomic }, options);
    }
    const key = options.idempotencyKey ?? randomKey();
    const answers: BatchAnswer[] = [];
    for (let from = 0; from < jobs.length; from += BATCH_JOBS_MAX) {
      const body = { jobs: jobs.slice(from, from + BATCH_JOBS_MAX) };
      // A key of its own for each part: the server counts positions from 0 within one request.
      const idempotencyKey = from === 0 ? key : `${key}-${from}`;
      answers.push(
        ...(await this.transport.create<BatchAnswer[]>('/jobs/batch', body, { ...options, idempotencyKey })),
      );
    }
    return answers;
  }

  get(jobId: string, options: CallOptions = {}): Promise<Job> {
    return this.read(path`/jobs/${jobId}`, options);
  }

  list(filter: JobFilter = {}, options: CallOptions = {}): List<ListedJob> {
    // Several statuses are one word with commas in it; several labels are given one by one.
    const status = Array.isArray(filter.status) ? filter.status.join(',') : filter.status;
    const include = filter.include && [filter.include].flat().join(',');
    const query = { ...filter, status: status === '' ? undefined : status, include };
    return this.readList('/jobs', query, options);
  }

  /** The job that has the key, in this namespace or where the caller makes jobs. */
  getByKey(
    key: string,
    { namespace, ...options }: CallOptions & { readonly namespace?: string | undefined } = {},
  ): Promise<Job> {
    return this.read(path`/jobs/by-key/${key}`, options, { namespace });
  }

  /**
   * Creates the job under its key, or replaces it: fields that are left out return to their defaults, and the same definition again
   * changes nothing. dryRun: only what would be done.
   */
  apply(job: KeyedJob, { dryRun, ...options }: ApplyOptions = {}): Promise<JobApplied> {
    return this.send('PUT', path`/jobs/by-key/${job.key}`, options, {
      body: job,
      repeatable: true,
      ...(dryRun && { query: { dry_run: true } }),
    });
  }

  /** Fields that are left out stay as they are; null brings back the default. */
  update(
    jobId: string,
    change: JobFields,
    { ifVersion, ...options }: UpdateOptions = {},
  ): Promise<JobChanged> {
    return this.send('PATCH', path`/jobs/${jobId}`, options, {
      body: change,
      ...(ifVersion !== undefined && { headers: { 'if-match': `"${ifVersion}"` } }),
    });
  }

  pause(jobId: string, options: CallOptions = {}): Promise<JobChanged> {
    return this.send('POST', path`/jobs/${jobId}/pause`, options);
  }

  resume(jobId: string, options: CallOptions = {}): Promise<JobChanged> {
    return this.send('POST', path`/jobs/${jobId}/resume`, options);
  }

  /** One coming fire of a recurring job; the schedule goes on after it. Again changes nothing. */
  skip(jobId: string, at: string | Date, options: CallOptions = {}): Promise<JobChanged> {
    return this.send('POST', path`/jobs/${jobId}/skip`, options, { body: { at }, repeatable: true });
  }

  /** Takes a skip back, until the fire is due. */
  unskip(jobId: string, at: string | Date, options: CallOptions = {}): Promise<JobChanged> {
    return this.send('POST', path`/jobs/${jobId}/unskip`, options, { body: { at }, repeatable: true });
  }

  /** Runs that have started are asked to stop; the job stays readable. A job that is over is refused (job_already_finished). */
  cancel(jobId: string, options: CallOptions = {}): Promise<JobChanged> {
    return this.send('POST', path`/jobs/${jobId}/cancel`, options);
  }

  /** Cancelled, and the job itself is gone; the history of its runs stays until retention drops it. */
  remove(jobId: string, options: CallOptions = {}): Promise<JobRemoved> {
    return this.send('DELETE', path`/jobs/${jobId}`, options, { query: { purge: true } });
  }

  /** The input is merged over the payload of the job, for this run alone. */
  runNow(jobId: string, { input, reason, ...options }: CreateOptions & RunRequest = {}): Promise<RunAdded> {
    return this.transport.create(path`/jobs/${jobId}/runNow`, { input, reason }, options);
  }

  status(jobId: string, options: CallOptions = {}): Promise<JobStatusReport> {
    return this.read(path`/jobs/${jobId}/status`, options);
  }

  /** Why it does not run now, and what can be done about it. */
  why(jobId: string, options: CallOptions = {}): Promise<Why> {
    return this.read(path`/jobs/${jobId}/why`, options);
  }

  /** Who changed it, when, and what; newest first. */
  versions(jobId: string, query: PageQuery = {}, options: CallOptions = {}): List<JobVersion> {
    return this.readList(path`/jobs/${jobId}/versions`, { ...query }, options);
  }

  /** Brings back an earlier version, as a new one. dryRun: only what would be done. */
  restore(
    jobId: string,
    version: number,
    { dryRun, ifVersion, ...options }: ApplyOptions & UpdateOptions = {},
  ): Promise<JobRestored> {
    return this.send('POST', path`/jobs/${jobId}/restore`, options, {
      body: { version, ...(dryRun && { dry_run: true }) },
      ...(ifVersion !== undefined && { headers: { 'if-match': `"${ifVersion}"` } }),
    });
  }

  /** The last outcomes of up to 50 jobs, newest first; jobs that cannot be seen are left out. */
  async strips(
    jobIds: readonly string[],
    { runs, ...options }: CallOptions & { readonly runs?: number | undefined } = {},
  ): Promise<readonly Strip[]> {
    if (jobIds.length === 0) return [];
    const query = { ids: jobIds.join(','), runs };
    return (await this.read<{ strips: readonly Strip[] }>('/jobs/strips', options, query)).strips;
  }

  runs(jobId: string, query: RunPageQuery = {}, options: CallOptions = {}): List<ShortRun> {
    return this.readList(path`/jobs/${jobId}/runs`, { ...query }, options);
  }

  logs(jobId: string, query: PageQuery = {}, options: CallOptions = {}): Promise<Logs> {
    return this.read(path`/jobs/${jobId}/logs`, options, { ...query });
  }

  /** What runs soon, across all jobs. */
  upcoming(
    query: PageQuery & { readonly within?: string; readonly namespace?: string | undefined } = {},
    options: CallOptions = {},
  ): List<UpcomingRun> {
    return this.readList('/jobs/upcoming', { ...query }, options);
  }

  /** A large selection is worked through in parts: go on with `next` as `cursor` while it is not null. */
  bulk(request: BulkRequest, options: CallOptions = {}): Promise<BulkReport> {
    return this.send('POST', '/jobs/bulk', options, { body: request });
  }
}

export class Schedules extends Resource {
  /** The next fires, in words and times; nothing is stored. */
  preview(schedule: PreviewRequest, options: CallOptions = {}): Promise<SchedulePreview> {
    return this.send('POST', '/schedules/preview', options, { body: schedule, repeatable: true });
  }
}
