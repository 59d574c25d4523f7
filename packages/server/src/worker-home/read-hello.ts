/** Reads the first message of a worker strictly: what it says stands in the storage and in lists for people. */
import {
  type BootId,
  HANDLER_NAME_RULE,
  hasControlCharacter,
  isHandlerName,
  SCRIPT_LABELS,
  type WorkerId,
} from '@carillon/domain';
import { protocol as P } from '@carillon/worker';
import type { WorkerRecord } from '../storage/member-store.ts';

/** The other side does not keep the protocol: its stream is ended, with these words. */
export class ProtocolBroken extends Error {}

/** What the worker says of itself cannot be accepted: to dial again would not change it. */
export class HelloRefused extends ProtocolBroken {}

export interface ReadHello {
  /** As the storage knows it: bound to the key, so that no key can take the worker of another. */
  readonly workerId: WorkerId;
  readonly bootId: BootId;
  readonly session: number;
  readonly slots: number;
  readonly executing: number;
  readonly handlers: readonly string[];
  /** JSON Schemas by the names of handlers. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Positions by lease. */
  readonly heldRuns: ReadonlyMap<string, ReadonlySet<number>>;
  /** It leaves. */
  readonly draining: boolean;
  /** Somebody had asked it to drain under its former id. */
  readonly askedToDrain: boolean;
  /** What it says of itself, for people. */
  readonly shown: Pick<WorkerRecord, 'name' | 'language' | 'version' | 'labels'>;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const KEY_CHARACTERS = 8;
const SLOTS_MAX = 10_000;
const HANDLERS_MAX = 1_000;
/** Of a worker with the most slots: one for each run that executes or is not recorded, and as many again. */
const HELD_LEASES_MAX = 40_000;
const HELD_RUNS_MAX = 100_000;
const WORKER_LABELS_MAX = 64;
const SHOWN_LENGTH_MAX = 200;

export function readHello(message: P.SessionRequest | undefined, keyId: string): ReadHello {
  const { hello } = message ?? {};
  if (!hello) throw new ProtocolBroken('the first message of a worker holds its hello');
  const { offer, session, executing, askedToDrain } = hello;
  if (hello.protocol < P.PROTOCOL)
    throw new ProtocolBroken(
      `this server speaks protocol ${P.PROTOCOL} with workers, and the worker knows ${hello.protocol}; use a newer version of its library`,
    );
  if (!UUID.test(hello.workerId)) throw new HelloRefused('worker_id is a UUID in small letters');
  if (!UUID.test(hello.bootId)) throw new HelloRefused('boot_id is a UUID in small letters');
  if (!offer) throw new HelloRefused('the hello holds no offer');
  const { slots } = offer;
  if (slots < 1 || slots > SLOTS_MAX) throw new HelloRefused(`a worker has from 1 to ${SLOTS_MAX} slots`);
  if (offer.handlers.length === 0 || offer.handlers.length > HANDLERS_MAX)
    throw new HelloRefused(`a worker offers from 1 to ${HANDLERS_MAX} handlers`);
  const handlers = [...new Set(offer.handlers.map(({ name }) => name))];
  if (!handlers.every(isHandlerName)) throw new HelloRefused(HANDLER_NAME_RULE);
  const heldRuns = readHeldRuns(hello);
  return {
    workerId: `${hello.workerId}@${keyId.slice(-KEY_CHARACTERS)}` as WorkerId,
    bootId: hello.bootId as BootId,
    ...{ session, slots, executing, handlers, heldRuns },
    ...{ draining: offer.draining, askedToDrain },
    parameters: new Map(
      offer.handlers.flatMap(({ name, parameters }) => (parameters === '' ? [] : [[name, parameters]])),
    ),
    shown: readShown(hello, offer),
  };
}

function readHeldRuns({ heldRuns }: P.Hello): ReadHello['heldRuns'] {
  const count = heldRuns.reduce((sum, { positions }) => sum + positions.length, 0);
  if (heldRuns.length > HELD_LEASES_MAX || count > HELD_RUNS_MAX)
    throw new HelloRefused(`held_runs are at most ${HELD_LEASES_MAX} entries with ${HELD_RUNS_MAX} runs`);
  const named = new Map<string, Set<number>>();
  for (const { leaseId, positions } of heldRuns) {
    const known = named.get(leaseId) ?? new Set();
    named.set(leaseId, known);
    for (const position of positions) known.add(position);
  }
  requireLeases([...named.keys()]);
  return named;
}

function readShown({ name, language, version }: P.Hello, { labels }: P.Offer): ReadHello['shown'] {
  if (Object.keys(labels).length > WORKER_LABELS_MAX)
    throw new HelloRefused(`a worker has at most ${WORKER_LABELS_MAX} labels`);
  const texts = { name, language, version, labels: Object.entries(labels).flat() };
  for (const [field, text] of Object.entries(texts))
    if (![text].flat().every((one) => isOneLine(one, SHOWN_LENGTH_MAX)))
      throw new HelloRefused(
        `the ${field} of a worker must have at most ${SHOWN_LENGTH_MAX} characters${field === 'labels' ? ' each' : ''}, and no control characters`,
      );
  return {
    ...{ name: name || undefined, language: language || undefined, version: version || undefined },
    labels: { ...labels },
  };
}

/** It stands in tables on terminals. */
function isOneLine(text: string, lengthMax: number): boolean {
  return text.length <= lengthMax && !hasControlCharacter(text);
}

export function requireLeases(leaseIds: readonly string[]): void {
  if (leaseIds.length > HELD_LEASES_MAX || !leaseIds.every((leaseId) => UUID.test(leaseId)))
    throw new ProtocolBroken(
      `the leases that a worker holds are at most ${HELD_LEASES_MAX}, each named by a UUID in small letters`,
    );
}

/** By them jobs of all namespaces would be refused, also of those that the worker has nothing to do with. */
export function withoutScriptLabels(labels: Readonly<Record<string, string>> = {}): Record<string, string> {
  const names: readonly string[] = Object.values(SCRIPT_LABELS);
  return Object.fromEntries(Object.entries(labels).filter(([name]) => !names.includes(name)));
}

type Namespaces = 'all' | readonly string[];

/** Whether a key may still come in for all that it came in for before. */
export function covers(now: Namespaces, before: Namespaces): boolean {
  return now === 'all' || (before !== 'all' && before.every((namespace) => now.includes(namespace)));
}
