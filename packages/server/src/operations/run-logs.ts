/** What runs have written and answered: read, searched, and followed while they run. */
import {
  type Caller,
  EVERYWHERE,
  isFinal,
  type Job,
  type Moment,
  Refusal,
  type RunId,
  type RunStatus,
  readStoredResult,
  requireMay,
} from '@carillon/domain';
import { sleep } from '@carillon/foundation';
import { writeLine } from '../log-store/log-line.ts';
import type { KeptArtifact } from '../run-logs/kept-artifacts.ts';
import { LogSearches, leavingAtEnd } from '../run-logs/log-searches.ts';
import { type LoggedLine, type LogPart, textPart } from '../run-logs/run-logs.ts';
import { claimantOf, SharedLimit } from '../shared-limit/shared-limit.ts';
import type { RunLogRecord } from '../storage/run-log-store.ts';
import type { RunView } from '../storage/run-store.ts';
import type { OperationPorts } from './operation-ports.ts';
import { requireDescendant, runNotFound, visibleRun } from './support/visibility.ts';

export interface ReadLogQuery {
  readonly attempt?: number | undefined;
  readonly epoch?: number | undefined;
  readonly streams?: readonly LoggedLine['stream'][] | undefined;
  readonly search?: string | undefined;
  readonly since?: Moment | undefined;
  /** Only so many lines at the end. */
  readonly tail?: number | undefined;
}

/**
 * parts: any part of it can be read. search: begins to search it, once there is room; signal: of a caller who has gone. Neither asks the
 * database for anything.
 */
export type RunLogText =
  | { readonly parts: readonly LogPart[]; readonly search?: undefined }
  | { readonly search: (signal: AbortSignal) => Promise<SearchedLog>; readonly parts?: undefined };

/** Its length is not known before. close has to be called when nobody reads the lines any more. */
export interface SearchedLog {
  readonly lines: AsyncIterable<string>;
  readonly close: () => void;
}

export type FollowedLog =
  /** part: of those of its attempt, which are at several servers, from 0. */
  | ({ readonly kind: 'line'; readonly part: number } & LoggedLine)
  | { readonly kind: 'attempt'; readonly epoch: number; readonly attempt: number | undefined }
  | { readonly kind: 'end'; readonly status: string }
  | { readonly kind: 'idle' };

export interface FollowLogOptions extends Omit<ReadLogQuery, 'tail'> {
  /** Continues there. */
  readonly after?: { readonly epoch: number; readonly part: number; readonly offset: number } | undefined;
  /** Who asks, asked again while it lasts; rejects when the credential is no longer valid. */
  readonly recognise: () => Promise<Caller>;
  readonly signal: AbortSignal;
}

const ACTION = 'logs.read';
const TAIL_BYTES_MAX = 8 * 1_024 * 1_024;
/** How often a followed log is looked at, and how often its run is. */
const LOOK_MS = 250;
const STATUS_EVERY_LOOKS = 4;
const HEARTBEAT_MS = 15_000;

export function runLogOperations(ports: OperationPorts) {
  const { logs, clock } = ports;
  const searches = new LogSearches(clock);
  const followed = new SharedLimit({ what: 'logs are followed', eachMax: 50, totalMax: 1_000 });

  return {
    async readRunLog(caller: Caller, runId: RunId, query: ReadLogQuery): Promise<RunLogText> {
      const { attempts } = await visibleRun(ports, { caller, runId, action: ACTION });
      const views = new Map(attempts.map((view) => [view.epoch, view]));
      const records = selected(await logs.of(runId), views, query);
      await logs.requireReach(records);
      const { streams, search: wanted, since, tail, attempt, epoch } = query;
      if ([streams, wanted, since, tail].some((value) => value !== undefined)) {
        // Refused before the answer begins where it is in a place that cannot be read.
        for (const record of records) await logs.parts(record);
        const matches = lineFilter(query, clock.now());
        const search = async (signal: AbortSignal): Promise<SearchedLog> => {
          const leave = await searches.enter(claimantOf(caller, ACTION), signal);
          const closed = new AbortController();
          const read = { records, matches, signal: closed.signal };
          const reading = leavingAtEnd(tail === undefined ? textLines(read) : lastLines(read, tail), leave);
          const close = () => {
            closed.abort();
            reading.close();
          };
          return { lines: reading.items, close };
        };
        return { search };
      }
      const known = Map.groupBy(records, (record) => record.epoch);
      const epochs = [...new Set([...views.keys(), ...known.keys()])].sort((a, b) => a - b);
      const parts: LogPart[] = [];
      for (const each of epochs) {
        if (attempt === undefined && epoch === undefined)
          parts.push(textPart(heading(each, views.get(each))));
        for (const record of known.get(each) ?? []) parts.push(...(await logs.parts(record)));
      }
      return { parts };
    },

    /** What the latest attempt answered: JSON text, or where it is read. */
    async getResult(caller: Caller, runId: RunId): Promise<string | LogPart> {
      const { latest, job } = await visibleRun(ports, { caller, runId, action: 'runs.read' });
      requireMay(caller, 'payloads.read', job ?? { namespace: EVERYWHERE });
      const { result } = latest;
      if (result === undefined) throw new Refusal('result_not_found', `The run ${runId} has no result.`);
      const stored = readStoredResult(result);
      return stored ? ports.logs.result(latest, stored) : result;
    },

    /** The files that its attempts left, of the latest first. */
    listArtifacts,

    /** Of several attempts that left one of this name, the latest counts. */
    async getArtifact(
      caller: Caller,
      runId: RunId,
      { name, attempt }: { readonly name: string; readonly attempt?: number | undefined },
    ): Promise<LogPart> {
      const kept = await listArtifacts(caller, runId);
      const found = kept.find((file) => file.name === name && (attempt ?? file.attempt) === file.attempt);
      if (found) return found.content;
      const whose = attempt === undefined ? '' : ` of attempt ${attempt}`;
      throw new Refusal('artifact_not_found', `The run ${runId} has no file of this name${whose}.`);
    },

    /** Until the run has ended, the signal aborts, or the caller may not read it any more. close has to be called when nobody reads it. */
    async followRunLog(
      caller: Caller,
      runId: RunId,
      options: FollowLogOptions,
    ): Promise<ReturnType<typeof leavingAtEnd<FollowedLog>>> {
      const { job } = await visibleRun(ports, { caller, runId, action: ACTION });
      const leave = followed.join(claimantOf(caller, ACTION));
      return leavingAtEnd(follow(ports, { runId, job, ...options }), leave);
    },
  };

  async function listArtifacts(caller: Caller, runId: RunId): Promise<KeptArtifact[]> {
    const { attempts, job } = await visibleRun(ports, { caller, runId, action: 'runs.read' });
    requireMay(caller, 'payloads.read', job ?? { namespace: EVERYWHERE });
    return logs.artifacts(runId, attempts);
  }

  async function* textLines({ records, matches, signal }: Search): AsyncGenerator<string> {
    for (const record of records)
      for await (const line of logs.lines(record, 0, signal)) if (matches(line)) yield writeLine(line);
  }

  async function* lastLines(search: Search, count: number): AsyncGenerator<string> {
    let kept: string[] = [];
    let first = 0;
    let chars = 0;
    for await (const line of textLines(search)) {
      kept.push(line);
      chars += line.length;
      while (kept.length - first > count || chars > TAIL_BYTES_MAX) {
        chars -= kept[first]!.length;
        kept[first] = '';
        first += 1;
      }
      if (first > 10_000) {
        kept = kept.slice(first);
        first = 0;
      }
    }
    yield* kept.slice(first);
  }
}

interface Search {
  readonly records: readonly RunLogRecord[];
  readonly matches: (line: LoggedLine) => boolean;
  readonly signal: AbortSignal;
}

function selected(
  records: readonly RunLogRecord[],
  views: ReadonlyMap<number, RunView>,
  { attempt, epoch }: Pick<ReadLogQuery, 'attempt' | 'epoch'>,
): RunLogRecord[] {
  return records.filter(
    (record) =>
      (epoch === undefined || record.epoch === epoch) &&
      (attempt === undefined || views.get(record.epoch)?.attempt === attempt),
  );
}

function lineFilter({ streams, search, since }: ReadLogQuery, nowMs: number): (line: LoggedLine) => boolean {
  const sinceMs = since === undefined ? undefined : 'atMs' in since ? since.atMs : nowMs - since.agoMs;
  return ({ stream, text, atMs, isMissing }) =>
    // Whatever is looked for may be in what is missing.
    isMissing ||
    ((streams === undefined || streams.includes(stream)) &&
      (search === undefined || text.includes(search)) &&
      (sinceMs === undefined || atMs >= sinceMs));
}

/** The line before the output of an attempt. */
function heading(epoch: number, view: RunView | undefined): string {
  if (view === undefined) return `# epoch ${epoch}\n`;
  const { attempt, status, executorId, startedAtMs, endedAtMs } = view;
  const time = (ms: number | undefined) => (ms === undefined ? '' : new Date(ms).toISOString());
  const facts = [
    `attempt ${attempt}`,
    `epoch ${epoch}`,
    status,
    executorId && `worker ${executorId}`,
    startedAtMs !== undefined && `from ${time(startedAtMs)}`,
    endedAtMs !== undefined && `to ${time(endedAtMs)}`,
  ];
  return `# ${facts.filter(Boolean).join(', ')}\n`;
}

async function* follow(
  { logs, storage, clock }: OperationPorts,
  {
    runId,
    job,
    after,
    recognise,
    signal,
    ...filter
  }: FollowLogOptions & { runId: RunId; job: Job | undefined },
): AsyncGenerator<FollowedLog, void, undefined> {
  const matches = lineFilter(filter, clock.now());
  let told = after?.epoch ?? 0;
  /** How far each part was read. */
  const read = new Map<string, number>();
  let finals = 0;
  let heardAt = clock.monotonic();
  let checkedAt = heardAt;
  let views = new Map<number, RunView>();
  /** Parts of which it was said that more cannot be read now. */
  const missing = new Set<string>();
  const isCheckDue = () => clock.monotonic() - checkedAt >= HEARTBEAT_MS;
  const isStillAllowed = () => {
    checkedAt = clock.monotonic();
    return mayStillRead(recognise, { job, runId });
  };
  for (let look = 0; !signal.aborted; look += 1) {
    let status: RunStatus | undefined;
    if (look % STATUS_EVERY_LOOKS === 0) {
      const attempts = await storage.runs.attempts(runId, clock.now());
      if (attempts.length === 0) throw runNotFound(runId);
      views = new Map(attempts.map((view) => [view.epoch, view]));
      ({ status } = attempts[0]!);
    }
    const records = selected(await logs.of(runId), views, filter);
    for (const { record, part } of numbered(records)) {
      if (record.epoch < told) continue;
      if (record.epoch > told) {
        told = record.epoch;
        yield { kind: 'attempt', epoch: told, attempt: views.get(told)?.attempt };
      }
      const name = `${record.epoch} ${part}`;
      const isBegun = record.epoch === after?.epoch;
      if (isBegun && part < after.part) continue;
      const from = read.get(name) ?? (isBegun && part === after.part ? after.offset : 0);
      for await (const line of logs.lines(record, from, signal)) {
        read.set(name, line.offset);
        const isTold = line.isMissing && missing.has(name);
        if (line.isMissing) missing.add(name);
        else missing.delete(name);
        if (isTold || !matches(line)) continue;
        heardAt = clock.monotonic();
        yield { kind: 'line', ...line, part };
        // Whoever reads slowly is asked again too.
        if (isCheckDue() && !(await isStillAllowed())) return;
      }
    }
    if (signal.aborted) return;
    // A failed attempt may be tried again: it is over when it has ended twice in a row, and then all was read.
    if (status !== undefined) finals = isFinal(status) ? finals + 1 : 0;
    if (status !== undefined && finals >= 2) {
      yield { kind: 'end', status };
      return;
    }
    if (isCheckDue() && !(await isStillAllowed())) return;
    const now = clock.monotonic();
    if (now - heardAt >= HEARTBEAT_MS) {
      heardAt = now;
      yield { kind: 'idle' };
    }
    await sleep(clock, LOOK_MS, signal);
  }
}

/** With the place of each among the parts of its attempt. */
function* numbered(records: readonly RunLogRecord[]): Generator<{ record: RunLogRecord; part: number }> {
  let [epoch, part] = [0, 0];
  for (const record of records) {
    part = record.epoch === epoch ? part + 1 : 0;
    epoch = record.epoch;
    yield { record, part };
  }
}

/** A storage that is away for a moment says nothing about the caller. */
async function mayStillRead(
  recognise: () => Promise<Caller>,
  { job, runId }: { job: Job | undefined; runId: RunId },
): Promise<boolean> {
  try {
    requireDescendant(job, { caller: await recognise(), runId, action: ACTION });
    return true;
  } catch (error) {
    return error instanceof Refusal ? error.status >= 429 : true;
  }
}
