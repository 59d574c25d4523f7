/** Whatever a script writes, and however much: bytes arrive as they are, and memory stays flat. */
import { describe, expect, test } from 'vitest';
import type { OutputStream } from '../../run-channel.ts';
import { bash, eventually, RecordingChannel, runScript, startScript } from './script.fixture.ts';
import { SCRIPT_DEFAULTS } from './script-handler.ts';

/** Counts what it is given, and asks for a pause after each chunk. */
class SlowChannel extends RecordingChannel {
  bytes = 0;
  open = 0;
  openMax = 0;
  override output(
    _: unknown,
    { stream, bytes }: { stream: OutputStream; bytes: Uint8Array },
  ): Promise<void> | undefined {
    if (stream === 'system') return super.output(_, { stream, bytes });
    this.bytes += bytes.byteLength;
    this.open += 1;
    this.openMax = Math.max(this.openMax, this.open);
    return new Promise((resolve) =>
      setImmediate(() => {
        this.open -= 1;
        resolve();
      }),
    );
  }
}

test('400 MB of output wait for the log: no more than one chunk of a stream is on its way, and memory is flat', async () => {
  const channel = new SlowChannel();
  const before = process.memoryUsage().rss;
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 20);
  const { outcome } = await runScript({ ...bash('head -c 399999999 /dev/zero; echo'), channel });
  clearInterval(timer);
  expect(outcome.kind).toBe('SUCCESS');
  expect(channel.bytes).toBe(400_000_000);
  expect(channel.openMax).toBe(1);
  expect(peak - before).toBeLessThan(200 * 1024 * 1024);
});

test('what a script wrote last is read, although the log takes it late', async () => {
  class LateChannel extends SlowChannel {
    override output(
      _: unknown,
      chunk: { stream: OutputStream; bytes: Uint8Array },
    ): Promise<void> | undefined {
      void super.output(_, chunk);
      return chunk.stream === 'system' ? undefined : new Promise((resolve) => setTimeout(resolve, 700));
    }
  }
  const channel = new LateChannel();
  await runScript({ ...bash('head -c 299999 /dev/zero; echo'), channel });
  expect(channel.bytes).toBe(300_000);
});

test('binary output arrives as it is', async () => {
  const script = 'import sys\nsys.stdout.buffer.write(bytes(range(256)) * 100 + b"\\n")';
  const bytes = Buffer.from([...Array(256).keys()]);
  const { channel } = await runScript({ payload: { interpreter: 'python3', script } });
  expect(
    channel.bytesOf('stdout').equals(Buffer.concat([...Array(100).fill(bytes), Buffer.from('\n')])),
  ).toBe(true);
});

test('output without line ends arrives, and its end is quoted within bounds', async () => {
  const { outcome, channel } = await runScript(bash('head -c 200000 /dev/zero | tr "\\0" x >&2; exit 1'));
  expect(channel.text('stderr').trimEnd()).toHaveLength(200_000);
  expect(outcome.kind === 'FAILED' && outcome.error.length).toBeLessThan(700);
});

describe('how the script ended is the last line of its log, also where its last line has no end', () => {
  const said = (channel: RecordingChannel) =>
    channel.chunks.map(({ stream, bytes }) => `${stream} ${bytes}`).join('');

  test.each([
    ['stdout', 'printf "disk full"; exit 1'],
    ['stderr', 'printf "disk full" >&2; exit 1'],
  ])('on %s', async (stream, script) => {
    const { channel } = await runScript(bash(script));
    expect(said(channel)).toMatch(new RegExp(`^${stream} disk full(${stream} )?\nsystem exit code 1 after`));
  });

  test('where it was stopped, perhaps within a secret', async () => {
    const secrets = ['hunter2-hunter2'];
    const script = 'trap "printf %.14s $1; exit 1" TERM; echo up; sleep 60 & wait';
    const { run, channel, ended } = startScript({ ...bash(script, { args: secrets }), secrets });
    await eventually(() => channel.text().includes('up\n'));
    run.requestStop('cancelled', 'cancelled', 0);
    await ended;
    expect(said(channel)).toMatch(/stdout up\nstdout \*\*\*stdout \nsystem exit code 1 after/);
  });
});

test('a script that closes its output and goes on is waited for', async () => {
  const { outcome } = await runScript(bash('exec >&- 2>&- 3>&-; sleep 0.3; exit 4'));
  expect(outcome).toMatchObject({ kind: 'FAILED', error: 'the script ended with exit code 4' });
});

test('a script that does not read its input harms nothing', async () => {
  const { outcome } = await runScript(bash('exec <&-; echo done', { stdin: 'x'.repeat(200_000) }));
  expect(outcome.kind).toBe('SUCCESS');
});

describe('a secret is masked before a text is cut, so that no part of it is left', () => {
  const secret = 'hunter2-hunter2-hunter2-hunter2';
  const secrets = [secret];
  const parts = Array.from({ length: secret.length - 5 }, (_, i) => secret.slice(i, i + 6));
  const partsIn = (text: string) => parts.filter((part) => text.includes(part));

  test.each([
    ['at the end of the quoted line', 490, 0],
    ['at the beginning of the last bytes that are kept', 10, 4_096 - 15],
    ['at the very end', 10, 0],
  ])('in the error, from standard error: %s', async (_, before, after) => {
    const script = `printf '%*s' ${before} '' | tr ' ' x >&2; printf %s "$1" >&2; printf '%*s' ${after} '' | tr ' ' y >&2; exit 1`;
    const { outcome } = await runScript({ ...bash(script, { args: [secret] }), secrets });
    if (outcome.kind !== 'FAILED') throw new Error(outcome.kind);
    expect(outcome.error).toMatch(/exit code 1: .*[xy]/);
    expect(partsIn(outcome.error)).toEqual([]);
  });

  test.each([
    ['a signal', 'kill -ABRT $$', /ended by SIG(ABRT|IOT)/],
    ['its limit on CPU time', 'while :; do :; done', /more CPU time/],
  ])('where %s ends the script within one', async (_, ends, error) => {
    const script = `printf %.14s "$1"; printf 'out of memory: %.14s' "$1" >&2; ${ends}`;
    const limits = { ...SCRIPT_DEFAULTS.limits, cpuSeconds: 1 };
    const { outcome, channel } = await runScript({
      ...{ ...bash(script, { args: [secret] }), secrets, options: { limits } },
    });
    expect([channel.text('stdout'), channel.text('stderr')]).toEqual(['***\n', 'out of memory: ***\n']);
    if (outcome.kind !== 'FAILED') throw new Error(outcome.kind);
    expect(`${outcome.error} ${channel.text('system')}`).toMatch(error);
    expect(partsIn(outcome.error)).toEqual([]);
  });

  test('in what is quoted from descriptor 3', async () => {
    const pad = 'x'.repeat(110);
    const script = `echo "${pad}$1" >&3; echo "{\\"${pad}$1\\":1}" >&3`;
    const { channel } = await runScript({ ...bash(script, { args: [secret] }), secrets });
    const said = channel.text('system');
    expect(said.match(/x{110}\*\*\*/g)).toHaveLength(2);
    expect(partsIn(said)).toEqual([]);
  });
});
