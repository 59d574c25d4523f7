/** Reads from the database, after everything has healed, what became of every accepted job; answers only what is wrong. */
import { CRASHES_MAX } from '@carillon/domain';
import { JOB_STATUS } from '../../../packages/server/src/storage/postgres/job-row.ts';
import type { OwnPostgres } from '../../support/own-postgres.ts';
import type { Call, Receiver } from '../../support/receiver.ts';
import type { Member } from './member.ts';
import type { Grid } from './workload.ts';

/** From the end of a pause to the calls that were about to be made when it began. */
const GOES_ON_MS_MAX = 1_500;
const SHOWN_MAX = 5;

/** What still has to happen; empty when all is done. */
export async function unfinished(postgres: OwnPostgres): Promise<Record<string, number>> {
  const [row] = await postgres.query<Record<string, string>>(`
    SELECT (SELECT count(*) FROM due) AS due, (SELECT count(*) FROM leases) AS leases,
      (SELECT count(*) FROM jobs WHERE schedule_type = 'INTERVAL' AND status = 'SCHEDULED') AS recurring`);
  return Object.fromEntries(
    Object.entries(row ?? {}).flatMap(([name, count]) => (count === '0' ? [] : [[name, Number(count)]])),
  );
}

/**
 * One-offs that were not stored as accepted, or did not succeed exactly once. A run that lost CRASHES_MAX servers or more is given up
 * as a poison pill, as it should be (hazard 20), when its history shows every one of them.
 */
export async function wrongOneOffs(
  postgres: OwnPostgres,
  accepted: readonly string[],
): Promise<{ wrong: string[]; givenUp: number }> {
  const rows = await postgres.query<OneOff>(`
    SELECT j.job_id, ${JOB_STATUS} AS status, count(*) FILTER (WHERE r.status = 'SUCCESS')::int AS successes,
      count(*) FILTER (WHERE r.status NOT IN ('SUCCESS', 'FAILED', 'RETURNED', 'LOST'))::int AS open,
      count(*) FILTER (WHERE r.status IN ('FAILED', 'LOST') AND r.error_message LIKE '%was lost while it held the run')::int AS losses,
      (SELECT string_agg(reason, ' ') FROM dead_letters d WHERE d.job_id = j.job_id) AS dead
    FROM jobs j LEFT JOIN job_runs r USING (job_id) WHERE j.name LIKE 'one-off %' GROUP BY j.job_id`);
  const stored = new Map(rows.map((row) => [row.job_id, row]));
  let givenUp = 0;
  const wrong = accepted.flatMap((jobId) => {
    const row = stored.get(jobId);
    if (!row) return [`${jobId} was accepted and is not stored`];
    const { status, successes, open, losses, dead } = row;
    if (status === 'COMPLETED' && successes === 1 && open === 0 && dead === null) return [];
    const isPoison = status === 'FAILED' && dead === 'crashed_workers' && losses >= CRASHES_MAX;
    if (isPoison && successes === 0 && open === 0) {
      givenUp += 1;
      return [];
    }
    return [`one-off ${JSON.stringify(row)}`];
  });
  const known = new Set(accepted);
  for (const jobId of stored.keys()) if (!known.has(jobId)) wrong.push(`${jobId} was submitted twice`);
  if (known.size !== accepted.length) wrong.push('an id was given out twice');
  return { wrong: shortened(wrong), givenUp };
}

interface OneOff extends Record<string, unknown> {
  readonly job_id: string;
  readonly status: string;
  readonly successes: number;
  readonly open: number;
  readonly losses: number;
  readonly dead: string | null;
}

/** Every nominal instant of every recurring job has one verdict: run and succeeded, or skipped. */
export async function wrongOccurrences(
  postgres: OwnPostgres,
  accepted: readonly string[],
  { firstMs, lastMs }: Grid,
): Promise<string[]> {
  const rows = await postgres.query<{
    job_id: string;
    run_id: string;
    at: string;
    count: number;
    final: string;
  }>(
    `
    SELECT job_id, run_id, (extract(epoch FROM scheduled_at) * 1000)::bigint AS at, max(occurrences) AS count,
      count(*) FILTER (WHERE status IN ('SUCCESS', 'SKIPPED')) AS final
    FROM job_runs WHERE job_id = ANY($1::uuid[]) GROUP BY job_id, run_id, scheduled_at`,
    [accepted],
  );
  const byJob = Map.groupBy(rows, (row) => row.job_id);
  const wrong: string[] = [];
  for (const jobId of accepted) {
    const verdicts = new Map<number, number>();
    for (const { at, count, final, run_id } of byJob.get(jobId) ?? []) {
      if (final !== '1') wrong.push(`run ${run_id} has ${final} final verdicts`);
      for (let i = 0; i < count; i += 1) {
        const instant = Number(at) + i * 1_000;
        verdicts.set(instant, (verdicts.get(instant) ?? 0) + 1);
      }
    }
    for (let instant = firstMs; instant <= lastMs; instant += 1_000) {
      const count = verdicts.get(instant) ?? 0;
      verdicts.delete(instant);
      if (count !== 1) wrong.push(`${jobId} has ${count} verdicts for ${new Date(instant).toISOString()}`);
    }
    for (const instant of verdicts.keys())
      wrong.push(`${jobId} has a verdict for ${new Date(instant).toISOString()}, which is not on its grid`);
  }
  return shortened(wrong);
}

/** Shards that no living member owns. */
export async function unownedShards(postgres: OwnPostgres, members: readonly Member[]): Promise<number[]> {
  const nodeIds = await Promise.all(members.map((member) => member.nodeId()));
  const rows = await postgres.query<{ shard: number }>(
    `
    SELECT s.shard FROM shards s LEFT JOIN nodes n ON n.node_id = s.node_id
    WHERE s.node_id IS NULL OR NOT (s.node_id = ANY($1::uuid[]))
      OR coalesce(n.expires_at, 0) < extract(epoch FROM clock_timestamp()) * 1000`,
    [nodeIds],
  );
  return rows.map((row) => row.shard);
}

interface Attempt extends Record<string, unknown> {
  readonly run_id: string;
  readonly epoch: number;
  readonly status: string;
  readonly executor_id: string | null;
}

/** Compares what the receiver saw with what the history says. */
export async function wrongCalls(
  postgres: OwnPostgres,
  receiver: Receiver,
  members: readonly Member[],
): Promise<{ wrong: string[]; zombies: number }> {
  const attempts = await postgres.query<Attempt>(
    'SELECT run_id, epoch, status, executor_id FROM job_runs WHERE epoch > 0',
  );
  const keyOf = ({ run_id, epoch }: Attempt) => `${run_id} ${epoch}`;
  const byKey = new Map(attempts.map((attempt) => [keyOf(attempt), attempt]));
  const memberOf = new Map<string, Member>();
  for (const member of members) memberOf.set(await member.nodeId(), member);
  const attemptOf = ({ runId, epoch }: Call) => byKey.get(`${runId} ${epoch}`);

  const wrong = receiver
    .repeatedEpochs()
    .map((call) => `epoch ${call.epoch} of run ${call.runId} was called twice`);
  const answered = new Set<string>();
  for (const call of receiver.calls) {
    if (call.answered) answered.add(`${call.runId} ${call.epoch}`);
    if (!attemptOf(call))
      wrong.push(`epoch ${call.epoch} of run ${call.runId} was called and has no history`);
  }
  for (const attempt of attempts) {
    if (attempt.status === 'SUCCESS' && !answered.has(keyOf(attempt)))
      wrong.push(`${keyOf(attempt)} is a success that the receiver never answered`);
  }
  let zombies = 0;
  for (const { earlier, later } of receiver.overlaps()) {
    // Whoever has the older epoch was given up: usually the one that called first.
    const zombie = earlier.epoch < later.epoch ? earlier : later;
    const attempt = attemptOf(zombie);
    const member = memberOf.get(attempt?.executor_id?.split('.')[0] ?? '');
    // Stopped between taking the run and calling, it calls first of all when it goes on, before it can notice anything.
    const fromMs = zombie === earlier ? zombie.startedAt : zombie.startedAt - GOES_ON_MS_MAX;
    // A process that cannot be reached cannot be stopped either; its report must be refused, and is not a success.
    if (member?.wasDisturbedWithin(fromMs, zombie.endedAt) && attempt?.status !== 'SUCCESS') zombies += 1;
    else
      wrong.push(
        `run ${earlier.runId} ran twice at once: ${described(earlier)}, ${described(later)}, the older epoch on ${member?.name}`,
      );
  }
  return { wrong: shortened(wrong), zombies };
}

function described({ epoch, startedAt, endedAt, path }: Call): string {
  return `epoch ${epoch} (${path}) from ${Math.round(startedAt)} to ${Math.round(endedAt)}`;
}

function shortened(wrong: readonly string[]): string[] {
  return wrong.length <= SHOWN_MAX
    ? [...wrong]
    : [...wrong.slice(0, SHOWN_MAX), `and ${wrong.length - SHOWN_MAX} more`];
}
