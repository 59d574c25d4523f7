/** What the log of an attempt takes of the server's memory is about what it counts, however little is written at a time. */
import { expect, test } from 'vitest';
import { AttemptLog, LINE_BYTES_MAX } from './attempt-log.ts';

const ROOM = { room: Number.POSITIVE_INFINITY, reason: '' };
const KIB = 1_024;

function say(log: AttemptLog, text: string): void {
  log.add({ stream: 'stdout', atMs: 0, bytes: Buffer.from(text) }, ROOM);
}

test('a line that comes byte by byte is one piece of memory', () => {
  const log = new AttemptLog(0);
  for (let bytes = 1; bytes <= LINE_BYTES_MAX; bytes += 1) {
    say(log, '.');
    if (bytes % 1_000 === 0) expect(log.held().buffers).toBe(1);
  }
  expect(log.unwrittenBytes).toBe(LINE_BYTES_MAX);
  expect(log.held().bytes).toBeLessThanOrEqual(2 * LINE_BYTES_MAX);
  // The line is full: it becomes one of the log, and the next begins.
  say(log, '.\n');
  expect(log.next()!.bytes.toString()).toBe(`0 o ${'.'.repeat(LINE_BYTES_MAX)}\n0 o .\n`);
});

test('a line of several pieces is the same as one that came at once, also past its bound', () => {
  const [pieces, whole] = [new AttemptLog(0), new AttemptLog(0)];
  const text = 'é"\u{1f514}x'.repeat(20_000);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 7)
    pieces.add({ stream: 'stderr', atMs: 0, bytes: bytes.subarray(at, at + 7) }, ROOM);
  whole.add({ stream: 'stderr', atMs: 0, bytes }, ROOM);
  for (const log of [pieces, whole]) log.end(0);
  expect(Buffer.compare(pieces.next()!.bytes, whole.next()!.bytes)).toBe(0);
  expect(pieces.unwrittenBytes).toBe(whole.unwrittenBytes);
});

test('a line at a time between tries of a store that is away takes as much as it counts', () => {
  const log = new AttemptLog(0);
  for (let tries = 0; tries < 10_000; tries += 1) {
    say(log, 'a line\n');
    log.next();
  }
  const { buffers, bytes } = log.held();
  expect(buffers).toBe(1);
  expect(bytes).toBeLessThanOrEqual(log.unwrittenBytes + 64 * KIB);
  const batch = log.next()!;
  expect(batch.bytes.length).toBe(log.unwrittenBytes);
  say(log, 'meanwhile\n');
  log.wrote(batch);
  expect(log.next()!.bytes.toString()).toBe('0 o meanwhile\n');
});
