/**
 * Every job as a stream. A page of it is read once the receiver has taken the one before, and for whoever the caller is then: a key
 * that was revoked ends it, and rights that were taken away hold from the next page on.
 */
import { jobView, rpc } from '@carillon/contract';
import { type Caller, type JobId, Refusal } from '@carillon/domain';
import { type Clock, sleep } from '@carillon/foundation';
import type { Operations } from '../../operations/operations.ts';
import { claimantOf, SharedLimit } from '../../shared-limit/shared-limit.ts';
import { userNamed } from '../api/jobs.ts';
import { HEARTBEAT_MS } from '../events/rights-check.ts';
import { type RpcMethod, serverStream } from './rpc-method.ts';

const { method } = rpc.JobService;
const STREAM_PAGE_JOBS = 200;
/** Each holds a page, of up to some megabytes. */
const STREAMS_EACH_MAX = 4;
const STREAMS_MAX = 50;
const LIMITED_PAUSE_MS = 1_000;
const LIMITED_PAUSES_MAX = 60;

interface RetrieveContext {
  readonly operations: Operations;
  readonly clock: Clock;
}

export function retrieveAllJobs({ operations, clock }: RetrieveContext): RpcMethod {
  const streams = new SharedLimit({
    what: 'streams of all jobs are open',
    eachMax: STREAMS_EACH_MAX,
    totalMax: STREAMS_MAX,
  });

  return serverStream(method.retrieveAllJobs, 'jobs.read', async function* (call) {
    const { request, signal, recognise } = call;
    const named = request.userId === '' ? undefined : rpc.storable(request.userId, 'user_id');
    const leave = streams.join(claimantOf(call.caller, 'jobs.read'));
    try {
      let caller = call.caller;
      let afterJobId: JobId | undefined;
      for (;;) {
        const userId = userNamed(caller, named);
        const page = { userId, limit: STREAM_PAGE_JOBS, payloads: true, afterJobId };
        const { jobs, next } = await operations.listJobs(caller, page);
        const readAt = clock.monotonic();
        let isStale = false;
        for (const details of jobs) {
          yield { job: rpc.messageFrom(rpc.JobSchema, rpc.jobJson(jobView(details))) };
          afterJobId = details.job.jobId;
          // A receiver that takes a page slowly gets the rest of it read again, as the caller may see it then.
          isStale = clock.monotonic() - readAt >= HEARTBEAT_MS;
          if (isStale || signal.aborted) break;
        }
        if (signal.aborted || (!isStale && next === undefined)) return;
        if (!isStale) afterJobId = next;
        caller = await recogniseInTime(recognise, { clock, signal });
      }
    } finally {
      leave();
    }
  });
}

/** A page counts as a request: where these are limited, the stream waits for its turn instead of ending. */
async function recogniseInTime(
  recognise: () => Promise<Caller>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<Caller> {
  for (let pauses = 0; ; pauses += 1) {
    try {
      return await recognise();
    } catch (error) {
      const isLimited = error instanceof Refusal && error.code === 'rate_limited';
      if (!isLimited || pauses >= LIMITED_PAUSES_MAX || signal.aborted) throw error;
      await sleep(clock, LIMITED_PAUSE_MS, signal);
    }
  }
}
