/** Everything the ports show, in a form in which two storages that agree are equal. */
import { FIRST_EVENT_CURSOR, type JobId, type RecordedEvent, type WorkerId } from '@carillon/domain';
import type { RunView } from '../../run-store.ts';
import { BASE_MS, FAR_MS } from '../storage-under-test.ts';
import { asSet, type CallPlayer, FROM_START, written } from './call-player.ts';

const LIMIT = 10_000;
const WINDOW = { untilMs: FAR_MS, limitPerShard: LIMIT };

export type Digest = Readonly<Record<string, unknown>>;

export async function digestOf(
  player: CallPlayer,
  { jobIds, workers, nowMs }: { jobIds: readonly JobId[]; workers: readonly WorkerId[]; nowMs: number },
): Promise<Digest> {
  const { schedule, leases, members, jobs } = player.storage;
  const [cursors, planned, lanes, held, leasedByRef, counts, cancelled, unknown, upcoming, list, ...ofJobs] =
    await Promise.all([
      schedule.readCursors(FROM_START, WINDOW).then(asSet),
      schedule.readPlanned(FROM_START, WINDOW).then(asSet),
      leases.lanes({ after: undefined, limit: LIMIT }),
      leases.leasedBy(workers).then((runs) => asSet(runs.map(({ position: _position, ...run }) => run))),
      leases
        .leased(player.leaseRefs())
        .then((runs) => asSet(runs.map((run) => run && { ...run, position: undefined }))),
      members.leasedRuns().then((runs) => asSet([...runs])),
      members.cancelledRuns(player.leases).then(asSet),
      members.unknownLeases(player.leases).then(asSet),
      jobs.upcoming({ fromMs: 0, untilMs: FAR_MS, visible: undefined, limit: LIMIT }),
      jobs.list({ limit: LIMIT }).then((found) => found.jobs.map(({ jobId, status }) => [jobId, status])),
      ...jobIds.map((jobId) => digestOfJob(player, jobId, nowMs)),
    ]);
  const shown = { cursors, planned, lanes, held, leasedByRef, counts, cancelled, unknown, upcoming, list };
  return { ...shown, ...Object.fromEntries(ofJobs.map((job, i) => [jobIds[i]!, job])) };
}

async function digestOfJob({ storage: { jobs, runs } }: CallPlayer, jobId: JobId, nowMs: number) {
  const [read, pending, views, latest, letters] = await Promise.all([
    jobs.getForChange(jobId),
    runs.pending(jobId, LIMIT),
    runs.ofJob(jobId, { limit: LIMIT }, nowMs),
    runs.latestOfJob(jobId, nowMs),
    runs.deadLetters({ jobId, limit: LIMIT }),
  ]);
  return {
    read: read && { ...read, job: { ...read.job, payload: JSON.parse(read.job.payload) as unknown } },
    pending,
    views: views.map(shownRun),
    latest: latest && shownRun(latest),
    letters,
  };
}

function shownRun({ result, ...view }: RunView) {
  return { ...view, result: result === undefined ? undefined : (JSON.parse(result) as unknown) };
}

/** Events of each job, run and member in their order; instants that the storage's own clock gave are left out. */
export async function eventsOf({ storage: { events } }: CallPlayer): Promise<Digest> {
  const told = new Map<string, string[]>();
  let after = FIRST_EVENT_CURSOR;
  for (;;) {
    const page = await events.read(after, LIMIT);
    for (const event of page.events) {
      const about = event.run?.runId ?? event.job?.jobId ?? event.member?.workerId ?? event.member?.nodeId;
      told.set(about!, [...(told.get(about!) ?? []), written(shownEvent(event))]);
    }
    if (written(page.through) === written(after)) break;
    after = page.through;
  }
  return Object.fromEntries([...told].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function shownEvent({ kind, atMs, job, run, member }: RecordedEvent) {
  const isOwnInstant = run?.endedAtMs !== undefined || run?.startedAtMs !== undefined;
  return { kind, job, run, member, ...(isOwnInstant && { atMs }) };
}

export const SEQUENCE_START_MS = BASE_MS + 3_600_000;
