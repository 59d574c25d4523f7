/**
 * Bounds what callers of HTTP/2 make the server keep for them: whoever asks and takes no answer holds its bytes in memory, at no cost of
 * their own. A stream of which nothing was taken for a while is closed; and when all connections together hold too much, those that
 * hold most are ended first.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';

export interface UnsentLimits {
  /** A stream with unsent bytes of which none was taken for this long is closed. */
  readonly stalledMs: number;
  /** Unsent bytes of all connections. */
  readonly totalMax: number;
}

export const UNSENT_LIMITS: UnsentLimits = { stalledMs: 60_000, totalMax: 256 * 1_024 * 1_024 };

const CHECK_MS_MAX = 1_000;

interface Watched {
  unsent: number;
  /** When it last became less, or there was nothing. */
  takenAt: number;
}

export class UnsentGuard {
  readonly #limits: UnsentLimits;
  readonly #sessions = new Map<ServerHttp2Session, Map<ServerHttp2Stream, Watched>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: UnsentLimits) {
    this.#limits = limits;
  }

  watch(session: ServerHttp2Session): void {
    const streams = new Map<ServerHttp2Stream, Watched>();
    this.#sessions.set(session, streams);
    session.on('stream', (stream) => {
      streams.set(stream, { unsent: 0, takenAt: performance.now() });
      stream.once('close', () => streams.delete(stream));
    });
    session.once('close', () => {
      this.#sessions.delete(session);
      if (this.#sessions.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
    const everyMs = Math.min(CHECK_MS_MAX, this.#limits.stalledMs);
    this.#timer ??= setInterval(() => this.#check(performance.now()), everyMs).unref();
  }

  #check(now: number): void {
    const { stalledMs, totalMax } = this.#limits;
    let total = 0;
    const held: { session: ServerHttp2Session; unsent: number }[] = [];
    for (const [session, streams] of this.#sessions) {
      let unsent = 0;
      for (const [stream, watched] of streams) {
        const before = watched.unsent;
        watched.unsent = stream.bufferSize;
        if (watched.unsent === 0 || watched.unsent < before) watched.takenAt = now;
        else if (now - watched.takenAt >= stalledMs) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
        unsent += heldBy(stream);
      }
      if (unsent > 0) held.push({ session, unsent });
      total += unsent;
    }
    if (total <= totalMax) return;
    for (const { session, unsent } of held.sort((a, b) => b.unsent - a.unsent)) {
      session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
      total -= unsent;
      if (total <= totalMax) return;
    }
  }
}

/** Of a long answer Node counts only what it has begun to write: what it was announced with is held to its last byte. */
function heldBy(stream: ServerHttp2Stream): number {
  if (stream.bufferSize === 0) return 0;
  return Math.max(stream.bufferSize, Number(stream.sentHeaders?.['content-length'] ?? 0));
}
