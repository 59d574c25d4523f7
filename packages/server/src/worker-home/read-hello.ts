/** Reads the first message of a worker strictly: what it says stands in the storage and in lists for people. */
import {
  type BootId,
  HANDLER_NAME_RULE,
  hasControlCharacter,
  isHandlerName,
  PARAMETERS_BYTES_MAX,
  type WorkerId,
} from '@carillon/domain';
import { protocol as P } from '@carillon/worker';
import type { WorkerRecord } from '../storage/member-store.ts';
import {
  heldLeasesMax,
  heldRunsMax,
  isUuid,
  ProtocolBroken,
  requireInSlots,
  requireLeases,
  requirePositions,
  requireSession,
  SLOTS_MAX,
} from './frame-bounds.ts';

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
  /** JSON Schemas by the names of handlers. Long, and the stream lasts: emptied when they are recorded. */
  readonly parameters: Map<string, string>;
  /** Positions by lease. */
  readonly heldRuns: ReadonlyMap<string, ReadonlySet<number>>;
  /** It leaves. */
  readonly draining: boolean;
  /** Somebody had asked it to drain under its former id. */
  readonly askedToDrain: boolean;
  /** What it says of itself, for people. */
  readonly shown: Pick<WorkerRecord, 'name' | 'language' | 'version' | 'labels'>;
}

const KEY_CHARACTERS = 8;
const HANDLERS_MAX = 1_000;
const WORKER_LABELS_MAX = 64;
const SHOWN_LENGTH_MAX = 200;
/**
 * Of the names of handlers and the labels together: each worker has as much in the storage, and for an hour after it was lost. It is room
 * for 400 handlers with names of 40 characters.
 */
const OFFER_BYTES_MAX = 16_384;
/** As they arrive in one message, and are recorded. */
const ALL_PARAMETERS_BYTES_MAX = 1_048_576;
const HANDLERS_LOGGED_MAX = 5;

/** For the log, before the rest is judged. */
export function saidId({ hello }: P.SessionRequest): string | undefined {
  return hello && isUuid(hello.workerId) ? hello.workerId : undefined;
}

export function readHello({ hello }: P.SessionRequest, keyId: string): ReadHello {
  if (!hello) throw new ProtocolBroken('the first message of a worker holds its hello');
  const { offer, session, executing, askedToDrain } = hello;
  if (hello.protocol < P.PROTOCOL)
    throw new HelloRefused(
      `this server speaks protocol ${P.PROTOCOL} with workers, and the worker knows ${hello.protocol}; use a newer version of its library`,
    );
  if (!isUuid(hello.workerId)) throw new HelloRefused('worker_id is a UUID in small letters');
  if (!isUuid(hello.bootId)) throw new HelloRefused('boot_id is a UUID in small letters');
  if (!offer) throw new HelloRefused('the hello holds no offer');
  const { slots } = offer;
  if (slots < 1 || slots > SLOTS_MAX) throw new HelloRefused(`a worker has from 1 to ${SLOTS_MAX} slots`);
  if (offer.handlers.length === 0 || offer.handlers.length > HANDLERS_MAX)
    throw new HelloRefused(`a worker offers from 1 to ${HANDLERS_MAX} handlers`);
  const handlers = [...new Set(offer.handlers.map(({ name }) => name))];
  if (!handlers.every(isHandlerName)) throw new HelloRefused(HANDLER_NAME_RULE);
  requireOfferBytes(handlers, offer.labels);
  requireSession(session);
  requireInSlots('executing', executing);
  const heldRuns = readHeldRuns(hello, slots);
  return {
    workerId: `${hello.workerId}@${keyId.slice(-KEY_CHARACTERS)}` as WorkerId,
    bootId: hello.bootId as BootId,
    ...{ session, slots, executing, handlers, heldRuns },
    ...{ draining: offer.draining, askedToDrain },
    parameters: readParameters(offer),
    shown: readShown(hello, offer),
  };
}

function readParameters({ handlers }: P.Offer): Map<string, string> {
  let bytes = 0;
  for (const { name, parameters } of handlers) {
    const own = Buffer.byteLength(parameters);
    bytes += own;
    if (own > PARAMETERS_BYTES_MAX)
      throw new HelloRefused(
        `the parameters of the handler ${name} have ${own} bytes, and may have ${PARAMETERS_BYTES_MAX}`,
      );
  }
  if (bytes > ALL_PARAMETERS_BYTES_MAX)
    throw new HelloRefused(
      `the parameters of the handlers of a worker may have ${ALL_PARAMETERS_BYTES_MAX} bytes together, and these have ${bytes}: use shorter ones, or divide the handlers between several workers`,
    );
  return new Map(handlers.flatMap(({ name, parameters }) => (parameters === '' ? [] : [[name, parameters]])));
}

function requireOfferBytes(handlers: readonly string[], labels: P.Offer['labels']): void {
  const texts = [...handlers, ...Object.entries(labels).flat()];
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > OFFER_BYTES_MAX)
    throw new HelloRefused(
      `the names of the handlers and the labels of a worker may have ${OFFER_BYTES_MAX} bytes together, and these have ${bytes}: use shorter ones, or divide the handlers between several workers`,
    );
}

/** Too many are no refusal for good: the worker may have fewer when it dials again. */
function readHeldRuns({ heldRuns }: P.Hello, slots: number): ReadHello['heldRuns'] {
  const count = heldRuns.reduce((sum, { positions }) => sum + positions.length, 0);
  const [leasesMax, runsMax] = [heldLeasesMax(slots), heldRunsMax(slots)];
  if (heldRuns.length > leasesMax || count > runsMax)
    throw new ProtocolBroken(
      `held_runs are at most ${leasesMax} entries with ${runsMax} runs for a worker with ${slots} slots`,
    );
  const named = new Map<string, Set<number>>();
  for (const { leaseId, positions } of heldRuns) {
    requirePositions(positions);
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

/** For a line of the log: a worker may offer a thousand, and connect again and again. */
export function loggedOf(handlers: readonly string[]): { handlers: number; firstHandlers: string[] } {
  return { handlers: handlers.length, firstHandlers: handlers.slice(0, HANDLERS_LOGGED_MAX) };
}
