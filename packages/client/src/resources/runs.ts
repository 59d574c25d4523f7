/** Runs, those that failed for good, the workers that execute them, and the handlers that workers offer. */
import type {
  Artifact,
  BulkRunsReport,
  BulkRunsRequest,
  CheckpointValue,
  DeadLetter,
  DeadLetterFilter,
  Handler,
  ListedRun,
  Logs,
  RedriveManyReport,
  RedriveManyRequest,
  Redriven,
  RunAdded,
  RunCancelled,
  RunFilter,
  RunRequest,
  RunWithAttempts,
  SearchResult,
  ShortRun,
  Why,
  Worker,
} from '../generated/types.ts';
import type { List } from '../wire/list.ts';
import type { CallOptions, CreateOptions } from '../wire/transport.ts';
import { type PageQuery, path, Resource, type RunPageQuery } from './resource.ts';
import { type LogMessage, type LogQuery, readLogText, type TailOptions, tailLogs } from './run-logs.ts';

export class Runs extends Resource {
  /** Across jobs, newest first: `list({ status: ['failed', 'timed_out'], since: '1h' })` is what failed in the last hour. */
  list(filter: RunFilter = {}, options: CallOptions = {}): List<ListedRun> {
    return this.readList('/runs', { ...filter }, options);
  }

  /** The latest attempt, with all of them in `attempts`. */
  get(runId: string, options: CallOptions = {}): Promise<RunWithAttempts> {
    return this.read(path`/runs/${runId}`, options);
  }

  /** What the next attempt goes on from, with its value. */
  checkpoint(runId: string, options: CallOptions = {}): Promise<CheckpointValue> {
    return this.read(path`/runs/${runId}/checkpoint`, options);
  }

  /** What the handler answered, however large it is. */
  result(runId: string, options: CallOptions = {}): Promise<unknown> {
    return this.read(path`/runs/${runId}/result`, options);
  }

  /** The files that its attempts left, of the latest first. */
  artifacts(runId: string, options: CallOptions = {}): Promise<Artifact[]> {
    return this.read(path`/runs/${runId}/artifacts`, options);
  }

  /** A file that it left, as a stream: of the latest attempt that left one of this name, unless another is named. */
  async artifact(
    runId: string,
    name: string,
    { attempt, signal }: Pick<CallOptions, 'signal'> & { readonly attempt?: number | undefined } = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const { body } = await this.transport.open({
      ...{ method: 'GET', path: path`/runs/${runId}/artifacts/${name}`, query: { attempt }, signal },
      headers: { accept: 'application/octet-stream' },
    });
    return body ?? new ReadableStream({ start: (end) => end.close() });
  }

  /** What it waits for and what can be done about it, or how it ended. */
  why(runId: string, options: CallOptions = {}): Promise<Why> {
    return this.read(path`/runs/${runId}/why`, options);
  }

  /** Cancels runs, or runs them again. A large selection is worked through in parts: go on with `next` as `cursor` while it is not null. */
  bulk(request: BulkRunsRequest, options: CreateOptions = {}): Promise<BulkRunsReport> {
    return this.transport.create('/runs/bulk', request, options);
  }

  cancel(runId: string, options: CallOptions = {}): Promise<RunCancelled> {
    return this.send('POST', path`/runs/${runId}/cancel`, options);
  }

  /** A new run of the same job, with the same input unless another one is given (null: none). */
  rerun(runId: string, { input, reason, ...options }: CreateOptions & RunRequest = {}): Promise<RunAdded> {
    return this.transport.create(path`/runs/${runId}/rerun`, { input, reason }, options);
  }

  /** Its story: when its attempts began, and how they ended. */
  logs(runId: string, options: CallOptions = {}): Promise<Logs> {
    return this.read(path`/runs/${runId}/logs`, options);
  }

  /** What it wrote: each line is `<milliseconds> o|e|s text`, for stdout, stderr and what Carillon says. */
  logText(runId: string, query: LogQuery = {}, options: CallOptions = {}): Promise<string> {
    return readLogText(this.transport, path`/runs/${runId}/logs`, { ...query, ...options });
  }

  /** What it wrote, from its first line on until it has ended. */
  tailLogs(runId: string, options: TailOptions = {}): AsyncGenerator<LogMessage, void, undefined> {
    return tailLogs(this.transport, path`/runs/${runId}/logs`, options);
  }

  /** What a worker is running now. */
  ofWorker(workerId: string, query: RunPageQuery = {}, options: CallOptions = {}): List<ShortRun> {
    return this.readList('/job/executions', { ...query, worker_id: workerId }, options);
  }
}

export class Search extends Resource {
  /** Jobs, runs, workers, users and namespaces by an id, the beginning of one, or a name. */
  find(text: string, options: CallOptions = {}): Promise<SearchResult> {
    return this.read('/search', options, { q: text });
  }
}

export class DeadLetters extends Resource {
  list(filter: DeadLetterFilter = {}, options: CallOptions = {}): List<DeadLetter> {
    return this.readList('/dead-letters', { ...filter }, options);
  }

  get(runId: string, options: CallOptions = {}): Promise<DeadLetter> {
    return this.read(path`/dead-letters/${runId}`, options);
  }

  redrive(runId: string, options: CallOptions = {}): Promise<Redriven> {
    return this.send('POST', path`/dead-letters/${runId}/redrive`, options);
  }

  /** Those of a filter, or those of `run_ids`. A large selection is worked through in parts: go on with `next` as `cursor` while it is not null. */
  redriveMany(request: RedriveManyRequest, options: CallOptions = {}): Promise<RedriveManyReport> {
    return this.send('POST', '/dead-letters/redrive', options, { body: request });
  }
}

export interface WorkerQuery extends PageQuery {
  /** Only those with this label, as `name:value`; of several, all must hold. */
  readonly label?: string | readonly string[] | undefined;
  /** true: only those that are alive; false: only those that were lost within the last hour. */
  readonly alive?: boolean | undefined;
  /** Only those that offer this handler. */
  readonly handler?: string | undefined;
}

export class Workers extends Resource {
  list(query: WorkerQuery = {}, options: CallOptions = {}): List<Worker> {
    return this.readList('/workers', { ...query }, options);
  }

  get(workerId: string, options: CallOptions = {}): Promise<Worker> {
    return this.read(path`/workers/${workerId}`, options);
  }

  /** It takes no more runs and ends those that it holds; it is empty when `running` and `stuck` are 0. */
  drain(workerId: string, options: CallOptions = {}): Promise<Worker> {
    return this.send('POST', path`/workers/${workerId}/drain`, options);
  }

  /** Lets a drained worker take runs again. */
  undrain(workerId: string, options: CallOptions = {}): Promise<Worker> {
    return this.send('POST', path`/workers/${workerId}/undrain`, options);
  }
}

export class Handlers extends Resource {
  list(query: PageQuery = {}, options: CallOptions = {}): List<Handler> {
    return this.readList('/handlers', { ...query }, options);
  }

  get(name: string, options: CallOptions = {}): Promise<Handler> {
    return this.read(path`/handlers/${name}`, options);
  }
}
