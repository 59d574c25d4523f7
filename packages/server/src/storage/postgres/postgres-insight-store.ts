/** The insight store on PostgreSQL. */
import type { JobId, RunId } from '@carillon/domain';
import { plainArray, textArray } from '../../postgres/array-literal.ts';
import type { Database } from '../../postgres/database.ts';
import {
  type FiresAt,
  type FiresQuery,
  type Found,
  type FoundJob,
  type FoundRun,
  IDS_LOOKED_AT_MAX,
  type IdRange,
  type InsightStore,
  type NamePrefix,
  newestOfEach,
  type SlotHolder,
  type Standing,
  type StripQuery,
  type StripRun,
} from '../insight-store.ts';
import {
  FIRES_AT,
  JOBS_BY_IDS,
  JOBS_BY_NAME,
  RUNS_BY_IDS,
  SLOT_HOLDERS,
  STANDING_OF_RUN,
  STRIPS,
} from './insight.sql.ts';
import { visibleArrays } from './read-upcoming.ts';
import { type Read, readAll, readFirst } from './selection.ts';

export class PostgresInsightStore implements InsightStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async strips({ jobIds, runs, visible }: StripQuery): Promise<ReadonlyMap<JobId, readonly StripRun[]>> {
    const strips = new Map<JobId, StripRun[]>();
    if (jobIds.length === 0) return strips;
    const parameters = [plainArray(jobIds), runs, ...visibleArrays(visible)];
    for (const { jobId, run } of await readAll(this.#database, STRIPS, parameters)) {
      const strip = strips.get(jobId) ?? [];
      strips.set(jobId, strip);
      if (run) strip.push(run);
    }
    return new Map([...strips].map(([jobId, strip]) => [jobId, newestOfEach(strip, runs)]));
  }

  slotHolders(jobId: JobId, limit: number): Promise<readonly SlotHolder[]> {
    return readAll(this.#database, SLOT_HOLDERS, [jobId, limit]);
  }

  firesAt({ atMs, namespace, visible, exceptJobId }: FiresQuery): Promise<readonly FiresAt[]> {
    const instants = plainArray([...new Set(atMs)]);
    const parameters = [instants, namespace, ...visibleArrays(visible), exceptJobId ?? null];
    return readAll(this.#database, FIRES_AT, parameters);
  }

  standing(runId: RunId): Promise<Standing | undefined> {
    return readFirst(this.#database, STANDING_OF_RUN, [runId]);
  }

  jobsByIds(range: IdRange): Promise<Found<FoundJob>> {
    return this.#inRange(JOBS_BY_IDS, range);
  }

  runsByIds(range: IdRange): Promise<Found<FoundRun>> {
    return this.#inRange(RUNS_BY_IDS, range);
  }

  jobsByName({ prefix, namespaces, limit }: NamePrefix): Promise<readonly FoundJob[]> {
    const names = namespaces === undefined ? null : textArray(namespaces);
    return readAll(this.#database, JOBS_BY_NAME, [prefix, names, limit]);
  }

  async #inRange<Hit>(
    read: Read<{ hit: Hit | undefined; lookedAt: number }>,
    { first, last, visible, limit }: IdRange,
  ): Promise<Found<Hit>> {
    const rows = await readAll(this.#database, read, [first, last, ...visibleArrays(visible), limit]);
    const found = rows.flatMap(({ hit }) => (hit === undefined ? [] : [hit]));
    return { found, partial: (rows[0]?.lookedAt ?? 0) >= IDS_LOOKED_AT_MAX };
  }
}
