/**
 * Detects the protocol of a connection in clear by its first bytes: HTTP/2 with prior knowledge begins with a fixed preface,
 * everything else is HTTP/1.1. The bytes are put back, so that the server reads the connection from its start.
 */
import type { Socket } from 'node:net';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export interface Peek {
  /** A connection whose protocol is not known by then is cut. */
  readonly withinMs: number;
  readonly onHttp1: () => void;
  readonly onHttp2: () => void;
}

export function peekProtocol(socket: Socket, { withinMs, onHttp1, onHttp2 }: Peek): void {
  let seen: Buffer = Buffer.alloc(0);
  const cut = () => socket.destroy();
  const late = setTimeout(cut, withinMs).unref();
  const onData = (chunk: Buffer) => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const spoken = protocolOf(seen);
    if (spoken === undefined) return;
    done();
    // Paused until its server listens: the bytes put back must not be emitted before.
    socket.pause();
    socket.unshift(seen);
    // HTTP/2 reads the bytes put back by itself, and would miss them if they were emitted.
    if (spoken === 'http2') return onHttp2();
    onHttp1();
    socket.resume();
  };
  const done = () => {
    clearTimeout(late);
    socket.off('data', onData).off('error', cut).off('end', cut).off('close', done);
  };
  socket.on('data', onData).on('error', cut).on('end', cut).on('close', done);
}

/** Undefined: too few bytes to tell. */
export function protocolOf(bytes: Buffer): 'http1' | 'http2' | undefined {
  const length = Math.min(bytes.length, PREFACE.length);
  if (!bytes.subarray(0, length).equals(PREFACE.subarray(0, length))) return 'http1';
  return length === PREFACE.length ? 'http2' : undefined;
}
