/**
 * Signals as payloads of notifications: `1<sender>;<letter><entries>;<letter><entries>`, all ASCII, numbers to the base 36,
 * ids as 22 letters of base64url. A section without entries is the "any" form of its kind. Reading is strict: what this
 * version would not have written is nothing at all. Whoever may connect to the database may send anything.
 */
import { type JobId, PRIORITIES, type RunId, SHARD_COUNT } from '@carillon/domain';
import { type LaneHint, PART_COUNT, TENANTS_MAX } from '../../storage/lane.ts';
import type { Signals } from '../signal-bus.ts';
import type { SignalBatch } from './waiting-signals.ts';

/** Of one flush: about 5,800 ids, or as many lanes. */
export const NOTIFICATIONS_MAX = 16;
/** PostgreSQL takes 7,999 bytes. */
export const NOTIFY_BYTES_MAX = 7_999;
/** Room is kept for the "any" sections, two bytes each, of the six kinds that have one. */
const FULL_BYTES = NOTIFY_BYTES_MAX - 6 * 2;
const HEAD = /^1[\w-]{12}$/;
const ID_LETTERS = 22;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

interface Codec<Signal> {
  readonly letter: string;
  readonly separator: string;
  /** Undefined: an entry cannot be written. */
  write(signal: Signal): readonly string[] | undefined;
  /** Undefined: not of our writing. */
  read(entries: string): Signal | undefined;
}

const bare = (letter: string): Codec<Record<string, never>> => ({
  letter,
  separator: '',
  write: () => [],
  read: (entries) => (entries === '' ? {} : undefined),
});

const CODECS: { readonly [Name in keyof Signals]: Codec<Signals[Name]> } = {
  'events-recorded': bare('e'),
  'shards-moved': bare('m'),
  'workers-asked': bare('w'),
  'shards-due': {
    letter: 's',
    separator: ',',
    write: ({ shards }) => all(shards, ({ shard, atMs }) => writeNumbers([shard, Math.floor(atMs)])),
    read(entries) {
      const shards = all(split(entries), readShard);
      return shards && { shards };
    },
  },
  'runs-open': {
    letter: 'r',
    separator: ',',
    write: ({ lanes }) => all(lanes, writeLane),
    read(entries) {
      const lanes = all(split(entries), readLane);
      return lanes && { lanes };
    },
  },
  'slots-freed': {
    letter: 'p',
    separator: '',
    write: ({ jobIds }) => all(jobIds, writeId),
    read(entries) {
      const jobIds = readIds<JobId>(entries);
      return jobIds && { jobIds };
    },
  },
  'cancel-requested': {
    letter: 'c',
    separator: '',
    // There is no "any" to fall back to: what cannot be written is left out.
    write: ({ runIds }) => runIds.map(writeId).filter((id) => id !== undefined),
    read(entries) {
      const runIds = readIds<RunId>(entries);
      return runIds && runIds.length > 0 ? { runIds } : undefined;
    },
  },
};
/** Those with few entries first: when the notifications do not suffice, it is the many that are sent as "any" or cut. */
const NAMES = Object.keys(CODECS) as (keyof Signals)[];
const NAME_OF_LETTER = new Map(NAMES.map((name) => [CODECS[name].letter, name]));

/** At most NOTIFICATIONS_MAX payloads that say all of the batch, some of it as "any". */
export function packSignals(batch: SignalBatch, { sender }: { readonly sender: string }): string[] {
  const head = `1${sender}`;
  let payloads: string[] = [];
  for (const name of NAMES) {
    const section = writeSection(name, batch);
    if (!section) continue;
    const longer = append(payloads, { head, ...section });
    if (longer.length <= NOTIFICATIONS_MAX) payloads = longer;
    else if (name === 'cancel-requested') payloads = longer.slice(0, NOTIFICATIONS_MAX);
    else payloads = append(payloads, { head, ...section, entries: [] });
  }
  return payloads;
}

/** Undefined: not of our writing. */
export function unpackSignals(payload: string): { sender: string; batch: SignalBatch } | undefined {
  const [head, ...sections] = payload.split(';');
  if (head === undefined || !HEAD.test(head) || sections.length === 0) return undefined;
  const batch: SignalBatch = {};
  for (const section of sections) {
    const name = NAME_OF_LETTER.get(section.slice(0, 1));
    if (name === undefined || batch[name] !== undefined) return undefined;
    if (!readSection(name, { entries: section.slice(1), batch })) return undefined;
  }
  return { sender: head.slice(1), batch };
}

interface Section {
  readonly letter: string;
  readonly separator: string;
  readonly entries: readonly string[];
}

function writeSection<Name extends keyof Signals>(name: Name, batch: SignalBatch): Section | undefined {
  const signal: Signals[Name] | undefined = batch[name];
  if (signal === undefined) return undefined;
  const { letter, separator, write } = CODECS[name];
  const entries = write(signal) ?? [];
  // Without entries it would be read as any run there is.
  if (name === 'cancel-requested' && entries.length === 0) return undefined;
  return { letter, separator, entries };
}

function readSection<Name extends keyof Signals>(
  name: Name,
  { entries, batch }: { entries: string; batch: { [Kind in Name]?: Signals[Kind] } },
): boolean {
  const signal = CODECS[name].read(entries);
  if (signal === undefined) return false;
  batch[name] = signal;
  return true;
}

/** The payloads with one more section, which continues in new payloads where it does not fit. */
function append(
  payloads: readonly string[],
  { head, letter, separator, entries }: Section & { readonly head: string },
): string[] {
  const full = payloads.slice(0, -1);
  let last = payloads.at(-1) ?? head;
  if (entries.length === 0) return [...full, `${last};${letter}`];
  let lead = `;${letter}`;
  for (const entry of entries) {
    if (last.length + lead.length + entry.length > FULL_BYTES) {
      full.push(last);
      last = head;
      lead = `;${letter}`;
    }
    last += lead + entry;
    lead = separator;
  }
  return [...full, last];
}

/** All of them mapped, or undefined when one could not be. */
function all<From, To>(
  values: readonly From[],
  map: (value: From) => To | undefined,
): readonly To[] | undefined {
  const mapped: To[] = [];
  for (const value of values) {
    const to = map(value);
    if (to === undefined) return undefined;
    mapped.push(to);
  }
  return mapped;
}

function split(entries: string): string[] {
  return entries === '' ? [] : entries.split(',');
}

function writeLane({ part, priority, handlerKey, tenant, atMs }: LaneHint): string | undefined {
  return writeNumbers([part, PRIORITIES.indexOf(priority), handlerKey, tenant, Math.floor(atMs)]);
}

function readLane(entry: string): LaneHint | undefined {
  const numbers = readNumbers(entry, 5);
  if (!numbers) return undefined;
  const [part, urgency, handlerKey, tenant, atMs] = numbers as [number, number, number, number, number];
  const priority = PRIORITIES[urgency];
  const isLane =
    isWithin(part, PART_COUNT) && handlerKey === (handlerKey | 0) && isWithin(tenant, TENANTS_MAX);
  return priority && isLane ? { part, priority, handlerKey, tenant, atMs } : undefined;
}

function readShard(entry: string): { shard: number; atMs: number } | undefined {
  const [shard, atMs] = readNumbers(entry, 2) ?? [];
  return isWithin(shard, SHARD_COUNT) ? { shard: shard!, atMs: atMs! } : undefined;
}

function isWithin(number: number | undefined, end: number): boolean {
  return number !== undefined && number >= 0 && number < end;
}

function writeNumbers(numbers: readonly number[]): string | undefined {
  if (!numbers.every(Number.isSafeInteger)) return undefined;
  return numbers.map((number) => number.toString(36)).join('.');
}

function readNumbers(entry: string, count: number): readonly number[] | undefined {
  const words = entry.split('.');
  if (words.length !== count) return undefined;
  return all(words, (word) => {
    const number = Number.parseInt(word, 36);
    return Number.isSafeInteger(number) && number.toString(36) === word ? number : undefined;
  });
}

function writeId(id: string): string | undefined {
  if (!UUID.test(id)) return undefined;
  return Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url');
}

function readIds<Id extends string>(entries: string): readonly Id[] | undefined {
  if (entries.length % ID_LETTERS !== 0) return undefined;
  const words = Array.from({ length: entries.length / ID_LETTERS }, (_, i) =>
    entries.slice(i * ID_LETTERS, (i + 1) * ID_LETTERS),
  );
  return all(words, (word) => {
    const bytes = Buffer.from(word, 'base64url');
    if (bytes.toString('base64url') !== word) return undefined;
    const hex = bytes.toString('hex');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join(
      '-',
    ) as Id;
  });
}
