/**
 * Streams of workers that are refused, or end because the worker breaks the protocol: each is said in the log once in a while, however
 * often it comes again, and a key whose workers break the protocol again and again is held off. Memory is bounded by the number of keys.
 */
import type { Clock, Log } from '@carillon/foundation';
import { ProtocolBroken, StreamStalled } from './frame-bounds.ts';
import type { Goodbye } from './goodbye.ts';
import { HelloRefused } from './read-hello.ts';

/** Whose stream it is. */
export interface StreamOwner {
  readonly keyId: string;
  /** As far as it is known. */
  readonly workerId: string | undefined;
}

interface KeyRecord {
  /** When its workers broke the protocol, of late. */
  breaches: number[];
  heldOffUntil: number;
  /** What was said in the log, and when. */
  readonly said: Map<string, number>;
}

const BREACHES_MAX = 5;
const BREACHES_MS = 60_000;
const HELD_OFF_MS = 60_000;
/** The same about the same worker. */
const SAID_AGAIN_MS = 60_000;
/** Lines of one key in that time: whoever lies can make up worker ids. */
const SAID_MAX = 10;
/** The oldest is forgotten for a new one. */
const KEYS_MAX = 1_000;
/** What the library says of a stream that ended within a message: a proxy or a client that went away, and no breach. */
const CUT = /protocol error: (promised \d+ bytes, received|incomplete envelope)/;
/** A worker that breaks the protocol is not wanted back at once: one that heeds it does not get its whole key held off. */
const BROKEN_PAUSE_MS = 20_000;
const FAILED_PAUSE_MS = 1_000;

export class RefusedStreams {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #log: Log;
  readonly #keys = new Map<string, KeyRecord>();

  constructor({ clock, log }: { readonly clock: Pick<Clock, 'monotonic'>; readonly log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Why no stream is opened with this key now. */
  heldOff(keyId: string): Goodbye | undefined {
    const afterMs = Math.ceil((this.#keys.get(keyId)?.heldOffUntil ?? 0) - this.#clock.monotonic());
    if (afterMs <= 0) return undefined;
    const reason = `workers with this key broke the protocol ${BREACHES_MAX} times within a minute; no stream is opened with it for ${Math.ceil(afterMs / 1_000)} s`;
    return { reason, dialAgain: true, afterMs };
  }

  /** The worker cannot be accepted as it is. */
  refused(owner: StreamOwner, goodbye: Goodbye): Goodbye {
    this.#say(owner, goodbye.reason, 'a worker was refused');
    return goodbye;
  }

  /** The stream ends by this error. unreadable: what is wrong with a message that could not be read. */
  failed(owner: StreamOwner, error: unknown, unreadable: string | undefined): Goodbye {
    if (error instanceof HelloRefused)
      return this.refused(owner, { reason: error.message, dialAgain: false });
    const reason = unreadable ?? (error instanceof ProtocolBroken ? error.message : undefined);
    if (reason === undefined) {
      this.#log.warn({ err: error, ...owner }, 'the stream of a worker failed');
      return { reason: 'the server could not serve the stream', dialAgain: true, afterMs: FAILED_PAUSE_MS };
    }
    this.#say(owner, reason, 'a worker broke the protocol; its stream was ended');
    if (!(error instanceof StreamStalled) && !CUT.test(reason)) this.#breaks(owner);
    return { reason, dialAgain: true, afterMs: BROKEN_PAUSE_MS };
  }

  #breaks(owner: StreamOwner): void {
    const record = this.#recordOf(owner.keyId);
    const now = this.#clock.monotonic();
    record.breaches = [...record.breaches.filter((at) => now - at < BREACHES_MS), now].slice(-BREACHES_MAX);
    if (record.breaches.length < BREACHES_MAX) return;
    record.breaches = [];
    record.heldOffUntil = now + HELD_OFF_MS;
    const { keyId } = owner;
    this.#log.warn(
      { keyId, seconds: HELD_OFF_MS / 1_000 },
      'a key whose workers break the protocol is held off',
    );
  }

  #say(owner: StreamOwner, reason: string, message: string): void {
    const { said } = this.#recordOf(owner.keyId);
    const now = this.#clock.monotonic();
    for (const [text, at] of said) if (now - at >= SAID_AGAIN_MS) said.delete(text);
    const text = `${owner.workerId} ${reason}`;
    if (said.has(text) || said.size >= SAID_MAX) return;
    said.set(text, now);
    this.#log.warn({ ...owner, reason }, message);
  }

  #recordOf(keyId: string): KeyRecord {
    const record = this.#keys.get(keyId) ?? { breaches: [], heldOffUntil: 0, said: new Map() };
    // The latest stands last.
    this.#keys.delete(keyId);
    this.#keys.set(keyId, record);
    for (const oldest of this.#keys.keys()) {
      if (this.#keys.size <= KEYS_MAX) break;
      this.#keys.delete(oldest);
    }
    return record;
  }
}
