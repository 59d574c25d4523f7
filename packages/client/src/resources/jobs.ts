/** Jobs: make, read, change, stop. */

import type {
  BatchAnswer,
  BulkReport,
  BulkRequest,
  Job,
  JobChanged,
  JobCreated,
  JobFields,
  JobFilter,
  JobStatusReport,
  JobUpdated,
  Logs,
  NewJob,
  Run,
  RunAdded,
  UpcomingRun,
} from '../generated/types.ts';
import { List } from '../wire/list.ts';
import { randomKey } from '../wire/random-key.ts';
import type { CallOptions, CreateOptions, Transport } from '../wire/transport.ts';

export interface UpdateOptions extends CallOptions {
  /** Leaves the job alone when it has another version by now. */
  readonly ifVersion?: number | undefined;
}

/** What the server takes in one request. */
export const BATCH_JOBS_MAX = 1_000;

export class Jobs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Once it has answered, the job is stored and will run. */
  async create(job: NewJob, options: CreateOptions = {}): Promise<JobCreated> {
    const { body, status } = await this.#transport.createAnswer<JobCreated>('/jobs', job, options);
    return { ...body, created: body.created ?? status === 201 };
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
      return this.#transport.create('/jobs/batch', { jobs, atomic }, options);
    }
    const key = options.idempotencyKey ?? randomKey();
    const answers: BatchAnswer[] = [];
    for (let from = 0; from < jobs.length; from += BATCH_JOBS_MAX) {
      const body = { jobs: jobs.slice(from, from + BATCH_JOBS_MAX) };
      // A key of its own for each part: the server counts positions from 0 within one request.
      const idempotencyKey = from === 0 ? key : `${key}-${from}`;
      answers.push(
        ...(await this.#transport.create<BatchAnswer[]>('/jobs/batch', body, { ...options, idempotencyKey })),
      );
    }
    return answers;
  }

  get(jobId: string, options: CallOptions = {}): Promise<Job> {
    return this.#transport.json({ ...options, method: 'GET', path: pathOf(jobId) });
  }

  list(filter: JobFilter = {}, options: CallOptions = {}): List<Job> {
    // Several statuses are one word with commas in it; several labels are given one by one.
    const status = Array.isArray(filter.status) ? filter.status.join(',') : filter.status;
    return new List(this.#transport, {
      ...options,
      path: '/jobs',
      query: { ...filter, status: status === '' ? undefined : status },
    });
  }

  /** Fields that are left out stay as they are; null brings back the default. */
  update(jobId: string, change: JobFields, options: UpdateOptions = {}): Promise<JobUpdated> {
    const { ifVersion, ...rest } = options;
    return this.#transport.json({
      ...rest,
      method: 'PATCH',
      path: pathOf(jobId),
      body: change,
      ...(ifVersion !== undefined && { headers: { 'if-match': `"${ifVersion}"` } }),
    });
  }

  pause(jobId: string, options: CallOptions = {}): Promise<JobChanged> {
    return this.#transport.json({ ...options, method: 'POST', path: pathOf(jobId, '/pause') });
  }

  resume(jobId: string, options: CallOptions = {}): Promise<JobChanged> {
    return this.#transport.json({ ...options, method: 'POST', path: pathOf(jobId, '/resume') });
  }

  /** Runs that have started are asked to stop; the job stays readable. */
  cancel(jobId: string, options: CallOptions = {}): Promise<JobChanged> {
    return this.#transport.json({ ...options, method: 'DELETE', path: pathOf(jobId) });
  }

  /** Cancelled, and the job itself is gone; the history of its runs stays until retention drops it. */
  remove(jobId: string, options: CallOptions = {}): Promise<JobChanged> {
    return this.#transport.json({
      ...options,
      method: 'DELETE',
      path: pathOf(jobId),
      query: { purge: true },
    });
  }

  runNow(jobId: string, options: CreateOptions = {}): Promise<RunAdded> {
    return this.#transport.create(pathOf(jobId, '/runNow'), undefined, options);
  }

  status(jobId: string, options: CallOptions = {}): Promise<JobStatusReport> {
    return this.#transport.json({ ...options, method: 'GET', path: pathOf(jobId, '/status') });
  }

  runs(jobId: string, query: { readonly limit?: number } = {}, options: CallOptions = {}): List<Run> {
    return new List(this.#transport, { ...options, path: pathOf(jobId, '/runs'), query: { ...query } });
  }

  logs(jobId: string, query: { readonly limit?: number } = {}, options: CallOptions = {}): Promise<Logs> {
    return this.#transport.json({
      ...options,
      method: 'GET',
      path: pathOf(jobId, '/logs'),
      query: { ...query },
    });
  }

  /** What runs soon, across all jobs. */
  upcoming(
    query: { readonly within?: string; readonly limit?: number } = {},
    options: CallOptions = {},
  ): List<UpcomingRun> {
    return new List(this.#transport, { ...options, path: '/jobs/upcoming', query: { ...query } });
  }

  /** A large selection is worked through in parts: go on with `after` while `next` is not null. */
  bulk(request: BulkRequest, options: CallOptions = {}): Promise<BulkReport> {
    return this.#transport.json({ ...options, method: 'POST', path: '/jobs/bulk', body: request });
  }
}

function pathOf(jobId: string, rest = ''): string {
  return `/jobs/${encodeURIComponent(jobId)}${rest}`;
}
