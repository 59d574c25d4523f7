/** The files that the attempts of a run left, found by the records of their logs, and read from wherever those are. */
import {
  ARTIFACT_END_BYTES,
  type ArtifactEntry,
  Refusal,
  readArtifactEnd,
  readArtifactIndex,
} from '@carillon/domain';
import { artifactsKey } from '../run-results/stored-artifacts.ts';
import type { RunLogRecord } from '../storage/run-log-store.ts';
import type { RunView } from '../storage/run-store.ts';
import { LogOutOfReach, type LogPart, type LogSource } from './run-logs.ts';

export interface KeptArtifact extends Pick<ArtifactEntry, 'name' | 'bytes'> {
  readonly attempt: number;
  readonly epoch: number;
  readonly keptAtMs: number;
  readonly content: LogPart;
}

export interface KeptArtifactsOptions {
  /** Of the run. */
  readonly records: readonly RunLogRecord[];
  readonly attempts: readonly RunView[];
  /** Undefined: nobody knows where it is. */
  readonly sourceOf: (record: RunLogRecord) => Promise<LogSource | undefined>;
}

/** Logs of the latest attempts, beside which files are looked for. */
const LOOKED_AT_MAX = 50;

/**
 * Those of the latest attempt first, and of each by name. What a server has that cannot be asked is left out, unless it is all there may
 * be: then that is refused, with the reason.
 */
export async function keptArtifacts({
  records,
  attempts,
  sourceOf,
}: KeptArtifactsOptions): Promise<KeptArtifact[]> {
  const views = new Map(attempts.map((view) => [view.epoch, view]));
  const found: KeptArtifact[] = [];
  let outOfReach: unknown;
  for (const record of records.slice(-LOOKED_AT_MAX).reverse()) {
    const view = views.get(record.epoch);
    if (!view) continue;
    try {
      const source = await sourceOf(record);
      if (!source) throw new LogOutOfReach(record.nodeId!, 'it has not said where it is reached');
      found.push(...(await artifactsOf(source, view, record)));
    } catch (error) {
      if (!(error instanceof LogOutOfReach)) throw error;
      outOfReach = error;
    }
  }
  if (found.length > 0 || !(outOfReach instanceof LogOutOfReach)) return found;
  const { nodeId, why } = outOfReach;
  const message = `Files of this run may be in a folder of the server ${nodeId}, which cannot be asked now (${why}).`;
  throw new Refusal('log_elsewhere', message, { cause: outOfReach });
}

async function artifactsOf(source: LogSource, view: RunView, record: RunLogRecord): Promise<KeptArtifact[]> {
  const { runId, epoch, attempt, createdAtMs } = view;
  // That is when it was handed out.
  const key = artifactsKey({ runId, epoch }, { claimedAtMs: createdAtMs, writer: record.writer });
  const [segment] = await source.segments(key);
  const bytes = segment?.bytes ?? 0;
  const endAt = bytes - ARTIFACT_END_BYTES;
  if (endAt < 0) return [];
  const read = (from: number, bytesMax: number) => source.read(key, { segment: 0, from, bytesMax });
  const indexBytes = readArtifactEnd(await read(endAt, ARTIFACT_END_BYTES));
  // It is being written, or its end was lost.
  if (indexBytes === undefined || indexBytes > endAt) return [];
  const indexAt = endAt - indexBytes;
  const text = Buffer.from(await read(indexAt, indexBytes)).toString();
  const index = readArtifactIndex(text, { bytes: indexAt });
  return (index?.files ?? []).map(({ name, offset, bytes: length }) => ({
    ...{ name, bytes: length, attempt, epoch, keptAtMs: index!.keptAtMs },
    content: {
      bytes: length,
      read: (from, bytesMax) => read(offset + from, Math.min(bytesMax, length - from)),
    },
  }));
}
