/** Calls the REST interface of a server process as its administrator. */
import type { ServerProcess } from './start-server-process.ts';

const ANSWER_MS_MAX = 60_000;

export interface ApiAnswer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface ApiRequest {
  readonly method?: string;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  /** Bounds the wait for an answer. */
  readonly withinMs?: number;
}

interface SubmittedJob {
  readonly job_id?: string;
  readonly status: string;
  readonly error?: { readonly status: number };
}

export async function callApi<Body>(
  server: ServerProcess,
  path: string,
  { method = 'GET', body, idempotencyKey, withinMs = ANSWER_MS_MAX }: ApiRequest = {},
): Promise<ApiAnswer<Body>> {
  const response = await fetch(`${server.address}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${await server.adminKey()}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(withinMs),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
}

/** The request itself is wrong: repeating it cannot help. */
export class JobRefused extends Error {}

/** All of them, or an error: then the caller repeats it with the same key. Answers the ids, in order. */
export async function submitJobs(
  server: ServerProcess,
  jobs: readonly object[],
  options: Pick<ApiRequest, 'idempotencyKey' | 'withinMs'> = {},
): Promise<string[]> {
  const { status, body } = await callApi<readonly SubmittedJob[]>(server, '/api/jobs/batch', {
    method: 'POST',
    body: { jobs },
    ...options,
  });
  if (status !== 200) throw new Error(`the batch was answered with ${status}: ${JSON.stringify(body)}`);
  return body.map((entry) => {
    if (entry.job_id !== undefined) return entry.job_id;
    const message = `a job was refused: ${JSON.stringify(entry)}`;
    throw (entry.error?.status ?? 500) >= 500 ? new Error(message) : new JobRefused(message);
  });
}

/** The ids of all jobs with the status, page by page. */
export async function jobsWithStatus(server: ServerProcess, status: string): Promise<string[]> {
  const ids: string[] = [];
  let path: string | undefined = `/api/jobs?status=${status}&limit=200`;
  while (path !== undefined) {
    const page: ApiAnswer<readonly { job_id: string }[]> = await callApi(server, path);
    if (page.status !== 200) throw new Error(`the list of jobs was answered with ${page.status}`);
    ids.push(...page.body.map((job) => job.job_id));
    path = /<([^>]+)>;\s*rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
  }
  return ids;
}

export interface RunView {
  readonly run_id: string;
  readonly status: string;
  readonly attempt_number: number;
}

/** The runs of a job, newest first. */
export async function runsOf(server: ServerProcess, jobId: string): Promise<readonly RunView[]> {
  return (await callApi<readonly RunView[]>(server, `/api/jobs/${jobId}/runs`)).body;
}
