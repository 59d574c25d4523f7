/** Runs and their ends as the messages of the protocol, and back: columns, so that a run costs no message of its own. */
import { create } from '@bufbuild/protobuf';
import type {
  ClaimedBatch,
  ClaimedRun,
  JobId,
  LeaseId,
  RunId,
  RunOutcome,
  RunUsage,
  WorkerId,
} from '@carillon/domain';
import { outcomeAsTold, SUCCESS, usageAsTold } from '../outcome-of.ts';
import type { OutputChunk } from '../run-channel.ts';
import type { ReportVerdict, RunReport } from '../runtime/worker-home.ts';
import {
  type Assign,
  AssignSchema,
  type Ended,
  EndedSchema,
  type Extra,
  ExtraSchema,
  type Outcome,
  OutcomeKind,
  OutcomeSchema,
  OutputStream,
  Verdict,
} from './generated/carillon/worker/v1/workers_pb.js';

/** The highest protocol that this version knows. */
export const PROTOCOL = 1;
/** What one frame may hold. */
export const FRAME_BYTES_MAX = 4 * 1_024 * 1_024;
/** Of a result that is sent in parts, one of them. */
export const RESULT_PART_BYTES_MAX = 256 * 1_024;

export interface Sized<Message> {
  readonly message: Message;
  readonly bytes: number;
}

const ASSIGN_RUNS_MAX = 500;
const ASSIGN_BYTES_MAX = 1_024 * 1_024;
const ENDED_BYTES_MAX = 512 * 1_024;
/** What names a run in a message: ids and numbers. */
export const RUN_BYTES = 120;
const END_BYTES = 24;
/** The field and the length of a text. */
const TEXT_BYTES = 6;

/** As in a frame: in UTF-8, with what stands before each text. */
const textBytes = (text: string) => TEXT_BYTES + Buffer.byteLength(text);

function bytesOf(run: ClaimedRun): number {
  const { payload, handler, checkpoint = '', secrets = [], namespace = '', signature = {} } = run;
  return [payload, handler, checkpoint, namespace, ...secrets, ...Object.entries(signature).flat()].reduce(
    (sum, text) => sum + textBytes(text),
    RUN_BYTES,
  );
}

export function assignsOf(batch: ClaimedBatch): Sized<Assign>[] {
  const assigns: Sized<Assign>[] = [];
  let part: ClaimedRun[] = [];
  let bytes = 0;
  const close = () => {
    if (part.length > 0) assigns.push({ message: assignOf(batch, part), bytes });
    part = [];
    bytes = 0;
  };
  for (const run of batch.runs) {
    if (run.failure) {
      // It has failed before it could be handed over; a message holds runs without a gap.
      close();
      continue;
    }
    const more = bytesOf(run);
    if (part.length === ASSIGN_RUNS_MAX || bytes + more > ASSIGN_BYTES_MAX) close();
    part.push(run);
    bytes += more;
  }
  close();
  return assigns;
}

function assignOf({ leaseId, claimedAtMs }: ClaimedBatch, runs: readonly ClaimedRun[]): Assign {
  const assign = create(AssignSchema);
  assign.leaseId = leaseId;
  assign.claimedAtMs = BigInt(claimedAtMs);
  assign.firstPosition = runs[0]!.position;
  for (const run of runs) {
    assign.runIds.push(run.runId);
    assign.jobIds.push(run.jobId);
    assign.epochs.push(run.epoch);
    assign.attempts.push(run.attempt);
    assign.scheduledAtMs.push(BigInt(run.nominalAtMs));
    assign.timeoutMs.push(Math.min(run.timeoutMs, UINT32_MAX));
    assign.handlers.push(run.handler);
    assign.payloads.push(run.payload);
    const extra = extraOf(run);
    if (extra) assign.extras.push(extra);
  }
  return assign;
}

const UINT32_MAX = 2 ** 32 - 1;

function extraOf({ position, checkpoint, secrets, namespace, signature }: ClaimedRun): Extra | undefined {
  if ([checkpoint, secrets, namespace, signature].every((given) => given === undefined)) return undefined;
  return create(ExtraSchema, {
    position,
    checkpoint: checkpoint ?? '',
    secrets: [...(secrets ?? [])],
    namespace: namespace ?? '',
    signature: { ...signature },
  });
}

export function batchOf(assign: Assign, workerId: WorkerId): ClaimedBatch {
  const { firstPosition, extras } = assign;
  const leaseId = assign.leaseId as LeaseId;
  const claimedAtMs = Number(assign.claimedAtMs);
  const leaseSize = firstPosition + assign.runIds.length;
  const runs = assign.runIds.map((runId, i): ClaimedRun => {
    const nominalAtMs = Number(assign.scheduledAtMs[i]);
    return {
      ...{ leaseId, position: firstPosition + i, leaseSize, claimedAtMs, nominalAtMs, dueAtMs: nominalAtMs },
      jobId: assign.jobIds[i] as JobId,
      runId: runId as RunId,
      epoch: assign.epochs[i]!,
      attempt: assign.attempts[i]!,
      timeoutMs: assign.timeoutMs[i]!,
      handler: assign.handlers[i]!,
      payload: assign.payloads[i]!,
      limited: false,
    };
  });
  for (const { position, checkpoint, secrets, namespace, signature } of extras) {
    const index = position - firstPosition;
    const run = runs[index];
    if (!run) continue;
    runs[index] = {
      ...run,
      ...(checkpoint !== '' && { checkpoint }),
      ...(secrets.length > 0 && { secrets }),
      ...(namespace !== '' && { namespace }),
      ...(Object.keys(signature).length > 0 && { signature }),
    };
  }
  return { leaseId, workerId, claimedAtMs, runs };
}

/**
 * One message for each lease, or several where results are large. A report that no message can hold is left out: on the stream it would
 * break all that is sent with it.
 */
export function endedOf(
  reports: readonly RunReport[],
  onUnsendable: (index: number, error: Error) => void = (_, error) => {
    throw error;
  },
): Sized<Ended>[] {
  const open = new Map<LeaseId, { message: Ended; bytes: number }>();
  const full: Sized<Ended>[] = [];
  for (const [index, report] of reports.entries()) {
    const { run, startedAtMs, endedAtMs } = report;
    const described = describe(report);
    if (described instanceof Error) {
      onUnsendable(index, described);
      continue;
    }
    const bytes =
      END_BYTES + (described ? END_BYTES + textBytes(described.error) + textBytes(described.result) : 0);
    let part = open.get(run.leaseId);
    if (part && part.bytes + bytes > ENDED_BYTES_MAX) {
      full.push(part);
      part = undefined;
    }
    if (!part) {
      part = { message: create(EndedSchema, { leaseId: run.leaseId }), bytes: RUN_BYTES };
      open.set(run.leaseId, part);
    }
    const { message } = part;
    message.positions.push(run.position);
    message.epochs.push(run.epoch);
    message.startedAtMs.push(BigInt(startedAtMs === undefined ? 0 : Math.round(startedAtMs)));
    message.endedAtMs.push(BigInt(Math.round(endedAtMs)));
    if (described) message.outcomes.push(described);
    part.bytes += bytes;
  }
  return [...full, ...open.values()];
}

export const VERDICTS = {
  settled: Verdict.UNSPECIFIED,
  cancelled: Verdict.CANCELLED,
  stale: Verdict.STALE,
} as const satisfies Record<ReportVerdict, Verdict>;

export const OUTPUT_STREAMS = {
  stdout: OutputStream.UNSPECIFIED,
  stderr: OutputStream.STDERR,
  system: OutputStream.SYSTEM,
} as const satisfies Record<OutputChunk['stream'], OutputStream>;

/** What a later version may say besides counts as the first. */
export const verdictOf = inverse(VERDICTS);
export const streamOf = inverse(OUTPUT_STREAMS);

function inverse<Name extends string, Value>(
  table: Readonly<Record<Name, Value>>,
): (value: Value | undefined) => Name {
  const names = new Map(Object.entries(table).map(([name, value]) => [value as Value, name as Name]));
  const [first] = Object.keys(table) as Name[];
  return (value) => (value === undefined ? undefined : names.get(value)) ?? first!;
}

const KINDS = {
  SUCCESS: OutcomeKind.SUCCESS,
  FAILED: OutcomeKind.FAILED,
  TIMED_OUT: OutcomeKind.TIMED_OUT,
  CANCELLED: OutcomeKind.CANCELLED,
  RETURNED: OutcomeKind.RETURNED,
  // Said of workers, never by them.
  LOST: OutcomeKind.RETURNED,
} as const satisfies Record<RunOutcome['kind'], OutcomeKind>;

function describe({ run, outcome, usage }: RunReport): Outcome | undefined | Error {
  try {
    return outcomeMessage(run.position, outcome, usage);
  } catch (error) {
    return new Error(`the outcome cannot be sent: ${(error as Error).message}`, { cause: error });
  }
}

/** Of a number that must be whole and not negative. */
function uint64(value: number): bigint {
  const whole = BigInt(Math.round(value));
  if (whole < 0n || whole > UINT64_MAX) throw new RangeError(`${value} is not between 0 and 2^64`);
  return whole;
}

const UINT64_MAX = 2n ** 64n - 1n;

function text(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`${typeof value} instead of a text`);
  return value;
}

/** Undefined: simply a success. Throws when no message can hold it. */
function outcomeMessage(
  position: number,
  outcome: RunOutcome,
  usage: RunUsage | undefined,
): Outcome | undefined {
  const result = 'result' in outcome ? (outcome.result ?? '') : '';
  if (outcome.kind === 'SUCCESS' && result === '' && usage === undefined) return undefined;
  const message = create(OutcomeSchema);
  message.position = position;
  message.kind = KINDS[outcome.kind];
  message.result = text(result);
  if ('error' in outcome) message.error = text(outcome.error ?? '');
  if (usage?.peakMemoryBytes !== undefined) message.peakMemoryBytes = uint64(usage.peakMemoryBytes);
  if (usage?.cpuSeconds !== undefined) message.cpuSeconds = usage.cpuSeconds;
  if (outcome.kind === 'FAILED') {
    message.retryable = outcome.retryable;
    message.retryAfterMs = uint64(outcome.retryAfterMs ?? 0);
  }
  return message;
}

/** As the worker told it, within the limits on what is kept; undefined: a success without a result. */
export function outcomeOf(message: Outcome | undefined): RunOutcome {
  return message === undefined ? SUCCESS : outcomeAsTold(readOutcome(message));
}

/** Undefined: nothing is known. A number that cannot be one is not kept. */
export function usageOf(message: Outcome | undefined): RunUsage | undefined {
  if (message === undefined) return undefined;
  const { peakMemoryBytes, cpuSeconds } = message;
  return usageAsTold({
    peakMemoryBytes: peakMemoryBytes === undefined ? undefined : Number(peakMemoryBytes),
    cpuSeconds,
  });
}

function readOutcome(message: Outcome): RunOutcome {
  const { error, result } = message;
  const answered = result === '' ? {} : { result };
  switch (message.kind) {
    case OutcomeKind.FAILED: {
      const retryAfterMs = Number(message.retryAfterMs);
      const { retryable } = message;
      return { kind: 'FAILED', error, retryable, ...(retryAfterMs > 0 && { retryAfterMs }), ...answered };
    }
    case OutcomeKind.TIMED_OUT:
      return { kind: 'TIMED_OUT', error };
    case OutcomeKind.CANCELLED:
      return error === '' ? { kind: 'CANCELLED' } : { kind: 'CANCELLED', error };
    case OutcomeKind.RETURNED:
      return { kind: 'RETURNED', error };
    default:
      return { kind: 'SUCCESS', ...answered };
  }
}
