/** What a storage call is about and what came of it, for the trace. Reads and heartbeats are about nobody. */
import type { RunId } from '@carillon/domain';
import type { JobChange, NewJob } from '../../packages/server/src/storage/job-store.ts';
import type { Claimed, Settled, Settlement } from '../../packages/server/src/storage/lease-store.ts';
import type { Fire } from '../../packages/server/src/storage/schedule-store.ts';
import type { Storage } from '../../packages/server/src/storage/storage.ts';
import type { RunLedger } from './run-ledger.ts';

export type Args<Port extends keyof Storage, Name extends keyof Storage[Port]> = Storage[Port][Name] extends (
  ...args: infer A
) => unknown
  ? A
  : never;

export type Result<
  Port extends keyof Storage,
  Name extends keyof Storage[Port],
> = Storage[Port][Name] extends (...args: never[]) => Promise<infer R> ? R : never;

export const NOBODY = '-';

/** The ids of the jobs and runs. */
export function aboutCall(
  call: string,
  args: readonly unknown[],
  { runs, result }: { runs: RunLedger; result?: unknown },
): readonly string[] {
  const [first] = args;
  switch (call) {
    case 'jobs.insert':
      return (first as readonly NewJob[]).map(({ job }) => job.jobId);
    case 'jobs.apply':
      return [(first as JobChange).job.jobId];
    case 'jobs.remove':
      return [first as string];
    case 'runs.redrive':
      return [first as RunId, (args as Args<'runs', 'redrive'>)[1].runId];
    case 'jobs.enqueue':
      return [first as string, (args as Args<'jobs', 'enqueue'>)[1].runId];
    case 'jobs.cancelRun':
      return [first as string, runs.get(first as RunId)?.jobId ?? ''];
    case 'schedule.fire':
      return (first as readonly Fire[]).flatMap((fire) => [
        fire.cursor.jobId,
        ...fire.runs.map(({ runId }) => runId),
      ]);
    case 'leases.claim':
      return ((result as Claimed | undefined)?.runs ?? []).flatMap(({ runId, jobId }) => [runId, jobId]);
    case 'leases.settle':
      return (first as readonly Settlement[]).flatMap((ref) => {
        const claim = runs.claimAt(ref);
        return claim ? [claim.runId, claim.jobId] : [];
      });
    case 'schedule.admit':
    case 'schedule.replace':
      return first as readonly string[];
    case 'leases.requestCancel':
      return first as readonly string[];
    default:
      return [NOBODY];
  }
}

export function outcomeOfCall(call: string, args: readonly unknown[], result: unknown): unknown {
  const [first] = args;
  switch (call) {
    case 'leases.claim':
      return (result as Result<'leases', 'claim'>).runs.map(({ epoch, attempt }) => ({ epoch, attempt }));
    case 'leases.settle':
      return (first as readonly Settlement[]).map(({ epoch, status, next }, i) => {
        const verdict = (result as Settled).verdicts[i];
        return [epoch, status, next.kind, verdict];
      });
    case 'jobs.apply':
      return [(first as JobChange).pending.kind, result];
    default:
      return result instanceof Set ? [...(result as Set<string>)] : undefined;
  }
}
