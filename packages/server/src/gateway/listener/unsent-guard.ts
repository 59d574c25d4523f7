/**
 * Bounds what callers make the server keep for them: whoever asks and takes no answer holds its bytes in memory, and whatever the answer
 * counts for, at no cost of their own. An answer of which nothing was taken for a while is ended: its stream in HTTP/2, its connection in
 * HTTP/1.1. When all connections together hold too much, those that hold most are ended first.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { type Clock, systemClock } from '@carillon/foundation';

export interface UnsentLimits {
  /** An answer with unsent bytes of which none was taken for this long is ended. */
  readonly stalledMs: number;
  /** Unsent bytes of all connections. */
  readonly totalMax: number;
}

export const UNSENT_LIMITS: UnsentLimits = { stalledMs: 60_000, totalMax: 256 * 1_024 * 1_024 };

const CHECK_MS_MAX = 1_000;
/**
 * Both systems hold bytes of a connection, on one machine about 5 MB: until a reader has taken much of that, it looks as if it took nothing.
 * At 30 kB a second this was seen to last 99 s. A connection has the time that a reader of this speed needs for what may be held.
 */
const SLOWEST_BYTES_PER_MS = 16;
const HELD_BYTES_MAX = 8_000_000;

/** What is sent to one caller: a stream, or a connection of HTTP/1.1, which has one answer at a time. */
interface Sending {
  unsent(): number;
  /** Grows when bytes are taken. */
  progress(): number;
  /** How long nothing may seem to be taken, where this is longer than usual. */
  patienceMs(): number;
  end(): void;
}

interface Watched extends Sending {
  lastProgress: number;
  /** When it last made progress, or there was nothing to send. */
  takenAtMs: number;
}

export class UnsentGuard {
  readonly #limits: UnsentLimits;
  readonly #clock: Clock;
  readonly #watched = new Set<Watched>();
  readonly #sessions = new Map<ServerHttp2Session, Set<ServerHttp2Stream>>();
  readonly #sockets = new Set<Socket>();
  #cancelTimer: (() => void) | undefined;

  constructor(limits: UnsentLimits, clock = systemClock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  watchSession(session: ServerHttp2Session): void {
    const streams = new Set<ServerHttp2Stream>();
    this.#sessions.set(session, streams);
    session.once('close', () => this.#sessions.delete(session));
    session.on('stream', (stream) => {
      streams.add(stream);
      const forget = this.#watch({
        unsent: () => stream.bufferSize,
        progress: () => -stream.bufferSize,
        patienceMs: () => 0,
        end: () => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM),
      });
      stream.once('close', () => {
        streams.delete(stream);
        forget();
      });
    });
  }

  /** Of HTTP/1.1. */
  watchSocket(socket: Socket): void {
    const forget = this.#watch({
      unsent: () => socket.writableLength,
      progress: () => takenBySystem(socket),
      patienceMs: () => Math.min(takenBySystem(socket), HELD_BYTES_MAX) / SLOWEST_BYTES_PER_MS,
      end: () => socket.destroy(),
    });
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      forget();
    });
  }

  #watch(sending: Sending): () => void {
    const watched = { ...sending, lastProgress: 0, takenAtMs: this.#clock.monotonic() };
    this.#watched.add(watched);
    if (!this.#cancelTimer) this.#checkLater();
    return () => {
      this.#watched.delete(watched);
      if (this.#watched.size > 0) return;
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
    };
  }

  #checkLater(): void {
    const everyMs = Math.min(CHECK_MS_MAX, this.#limits.stalledMs);
    this.#cancelTimer = this.#clock.timer(everyMs, () => {
      this.#checkLater();
      for (const watched of this.#watched) this.#endIfStalled(watched);
      this.#endLargest();
    });
  }

  #endIfStalled(watched: Watched): void {
    const nowMs = this.#clock.monotonic();
    const progress = watched.progress();
    const patienceMs = Math.max(this.#limits.stalledMs, watched.patienceMs());
    if (watched.unsent() === 0 || progress > watched.lastProgress) watched.takenAtMs = nowMs;
    else if (nowMs - watched.takenAtMs >= patienceMs) watched.end();
    watched.lastProgress = progress;
  }

  #endLargest(): void {
    const sessions = [...this.#sessions].map(([session, streams]) => ({
      bytes: [...streams].reduce((sum, stream) => sum + heldBy(stream), 0),
      end: () => session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM),
    }));
    const sockets = [...this.#sockets].map((socket) => ({
      ...{ bytes: socket.writableLength, end: () => socket.destroy() },
    }));
    const held = [...sessions, ...sockets];
    let total = held.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { end, bytes } of held.sort((a, b) => b.bytes - a.bytes)) {
      if (total <= this.#limits.totalMax) return;
      end();
      total -= bytes;
    }
  }
}

/** Of a long answer Node counts only what it has begun to write: what it was announced with is held to its last byte. */
function heldBy(stream: ServerHttp2Stream): number {
  if (stream.bufferSize === 0) return 0;
  return Math.max(stream.bufferSize, Number(stream.sentHeaders?.['content-length'] ?? 0));
}

interface Handle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
  /** Under TLS: that of the connection below. */
  readonly _parent?: Handle;
}

/**
 * Bytes of the connection that the system has taken over. What Node tells in public counts a write when all of it was taken, and an answer
 * of megabytes is one write: a slow reader of it would look like one who takes nothing.
 */
function takenBySystem(socket: Socket): number {
  const { _handle: own } = socket as Socket & { readonly _handle?: Handle | null };
  const handle = own?._parent ?? own;
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}
