/** The way in for new jobs. Promise: once it resolves, the job is durable and will run. */
import type { InsertedJob, NewJob } from '../storage/job-store.ts';

export interface Ingest {
  accept(job: NewJob): Promise<InsertedJob>;
  acceptAll(jobs: readonly NewJob[]): Promise<InsertedJob[]>;
  /** In one transaction: where one of them is refused, none is accepted. */
  acceptAtomic(jobs: readonly NewJob[]): Promise<InsertedJob[]>;
}
