/**
 * What no worker can truthfully say, in numbers and texts: whoever says it is disconnected with the reason, before anything of it reaches
 * the storage or what other workers share. The bounds are those of the protocol and of the columns that hold what is said.
 */
import { protocol as P, unrecordedMax } from '@carillon/worker';

/** The other side does not keep the protocol: its stream is ended, with these words. */
export class ProtocolBroken extends Error {}

/** It may be slow, or cut off: nobody lies. */
export class StreamStalled extends ProtocolBroken {}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
export const SLOTS_MAX = 10_000;
/** Of a column of 32 bits: of sessions, which are counted from 1, and epochs. */
const INTEGER_MAX = 2 ** 31 - 1;
/** A lease has far fewer runs; its columns hold positions in 16 bits. */
const POSITION_MAX = 2 ** 15 - 1;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/**
 * Leases that a worker can hold: one for each run that executes or is not recorded, and as many again, which it held when it connected
 * and which were taken from it.
 */
export function heldLeasesMax(slots: number): number {
  return 2 * unrecordedMax(slots);
}

/** A lease may have several of them. */
export function heldRunsMax(slots: number): number {
  return 5 * unrecordedMax(slots);
}

export function requireLeases(leaseIds: readonly string[]): void {
  if (!leaseIds.every(isUuid)) throw new ProtocolBroken('a lease is named by a UUID in small letters');
}

export function requirePositions(positions: readonly number[]): void {
  if (positions.some((position) => position > POSITION_MAX))
    throw new ProtocolBroken(`the position of a run in its lease is at most ${POSITION_MAX}`);
}

export function requireSession(session: number): void {
  if (session > INTEGER_MAX) throw new ProtocolBroken(`the session of a worker is at most ${INTEGER_MAX}`);
}

/** A handler that executes has a slot, also one that is stuck. */
export function requireInSlots(name: 'executing' | 'stuck', count: number): void {
  if (count > SLOTS_MAX)
    throw new ProtocolBroken(`${name} is at most ${SLOTS_MAX}, as many as a worker can have slots`);
}

/** heldMax: how many leases the worker can hold by now. */
export function requireBeat({ heldLeases, stuck }: P.Beat, { heldMax }: { readonly heldMax: number }): void {
  requireInSlots('stuck', stuck);
  if (heldLeases.length > heldMax)
    throw new ProtocolBroken(
      `the worker names ${heldLeases.length} leases, and can hold at most ${heldMax}: those of its hello, those that it was assigned since, and one for each slot`,
    );
  requireLeases(heldLeases);
}

/** Of every message after the hello, all but its beat. What it may say of capacity and freed slots depends on the worker. */
export function requireFrame({
  started,
  ended,
  checkpoints,
  outputs,
  progress,
  resultParts,
}: P.SessionRequest): void {
  for (const runs of [started, checkpoints, outputs, progress, resultParts])
    for (const run of runs) requireRun(run);
  for (const { leaseId, positions, epochs, outcomes } of ended) {
    requireLeases([leaseId]);
    requirePositions(positions);
    requireEpochs(epochs);
    requirePositions(outcomes.map(({ position }) => position));
  }
  for (const { offset, bytesTotal, bytes } of resultParts) {
    if (bytes.length > P.RESULT_PART_BYTES_MAX) throw new ProtocolBroken('a part of a result is too large');
    if (offset > Number.MAX_SAFE_INTEGER || bytesTotal > Number.MAX_SAFE_INTEGER)
      throw new ProtocolBroken('no result is as long as a part of one says');
  }
}

function requireRun({ leaseId, position, epoch }: Pick<P.Started, 'leaseId' | 'position' | 'epoch'>): void {
  requireLeases([leaseId]);
  requirePositions([position]);
  requireEpochs([epoch]);
}

function requireEpochs(epochs: readonly number[]): void {
  if (epochs.some((epoch) => epoch > INTEGER_MAX))
    throw new ProtocolBroken(`the epoch of a run is at most ${INTEGER_MAX}`);
}
