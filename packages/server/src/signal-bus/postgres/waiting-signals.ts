/**
 * What waits to be sent, merged to at most one signal of each kind. Bounded: a kind with more entries than ENTRIES_MAX
 * becomes its "any" form, which has no entries; cancellations, which have no such form, are cut.
 */
import type { JobId, RunId } from '@carillon/domain';
import type { LaneHint } from '../../storage/lane.ts';
import type { Signals } from '../signal-bus.ts';

/** At most one signal of each kind. */
export type SignalBatch = Partial<Signals>;

/** More than one flush can send by name, and less than 2 MB of memory. */
export const ENTRIES_MAX = 8_192;

type ShardHint = Signals['shards-due']['shards'][number];

export class WaitingSignals {
  readonly #lanes = new Merged<string, LaneHint>(earlier);
  readonly #shards = new Merged<number, ShardHint>(earlier);
  readonly #jobIds = new Merged<JobId, JobId>((id) => id);
  readonly #runIds = new Set<RunId>();
  #eventsRecorded = false;
  #shardsMoved = false;
  #workersAsked = false;

  add(batch: SignalBatch): void {
    if (batch['runs-open']) this.#lanes.add(batch['runs-open'].lanes, laneKey);
    if (batch['shards-due']) this.#shards.add(batch['shards-due'].shards, ({ shard }) => shard);
    if (batch['slots-freed']) this.#jobIds.add(batch['slots-freed'].jobIds, (id) => id);
    if (batch['events-recorded']) this.#eventsRecorded = true;
    if (batch['shards-moved']) this.#shardsMoved = true;
    if (batch['workers-asked']) this.#workersAsked = true;
    for (const runId of batch['cancel-requested']?.runIds ?? []) {
      if (this.#runIds.size === ENTRIES_MAX) break;
      this.#runIds.add(runId);
    }
  }

  get isEmpty(): boolean {
    return (
      !this.#eventsRecorded &&
      !this.#shardsMoved &&
      !this.#workersAsked &&
      this.#lanes.isEmpty &&
      this.#shards.isEmpty &&
      this.#jobIds.isEmpty &&
      this.#runIds.size === 0
    );
  }

  /** Everything that waits; afterwards nothing does. */
  take(): SignalBatch {
    const batch: SignalBatch = {
      ...(!this.#lanes.isEmpty && { 'runs-open': { lanes: this.#lanes.values() } }),
      ...(!this.#shards.isEmpty && { 'shards-due': { shards: this.#shards.values() } }),
      ...(!this.#jobIds.isEmpty && { 'slots-freed': { jobIds: this.#jobIds.values() } }),
      ...(this.#runIds.size > 0 && { 'cancel-requested': { runIds: [...this.#runIds] } }),
      ...(this.#eventsRecorded && { 'events-recorded': {} }),
      ...(this.#shardsMoved && { 'shards-moved': {} }),
      ...(this.#workersAsked && { 'workers-asked': {} }),
    };
    this.clear();
    return batch;
  }

  clear(): void {
    this.#lanes.clear();
    this.#shards.clear();
    this.#jobIds.clear();
    this.#runIds.clear();
    this.#eventsRecorded = false;
    this.#shardsMoved = false;
    this.#workersAsked = false;
  }
}

/** The entries of one kind of signal, one for each key; or "any" of them. */
class Merged<Key, Entry> {
  readonly #entries = new Map<Key, Entry>();
  readonly #merge: (one: Entry, other: Entry) => Entry;
  #isAny = false;

  constructor(merge: (one: Entry, other: Entry) => Entry) {
    this.#merge = merge;
  }

  /** No entries: any. */
  add(entries: readonly Entry[], keyOf: (entry: Entry) => Key): void {
    if (entries.length === 0) this.#becomeAny();
    for (const entry of entries) {
      if (this.#isAny) return;
      const key = keyOf(entry);
      const known = this.#entries.get(key);
      if (known === undefined && this.#entries.size === ENTRIES_MAX) this.#becomeAny();
      else this.#entries.set(key, known === undefined ? entry : this.#merge(known, entry));
    }
  }

  get isEmpty(): boolean {
    return !this.#isAny && this.#entries.size === 0;
  }

  values(): Entry[] {
    return [...this.#entries.values()];
  }

  clear(): void {
    this.#entries.clear();
    this.#isAny = false;
  }

  #becomeAny(): void {
    this.#entries.clear();
    this.#isAny = true;
  }
}

function earlier<Hint extends { readonly atMs: number }>(one: Hint, other: Hint): Hint {
  return other.atMs < one.atMs ? other : one;
}

function laneKey({ part, priority, handlerKey, tenant }: LaneHint): string {
  return `${part} ${priority} ${handlerKey} ${tenant}`;
}
