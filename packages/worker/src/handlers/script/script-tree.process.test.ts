/** Nothing of a script outlives it: not its end, not a stop, not a limit (hazard 35). */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Containment, probeContainment } from './containment.ts';
import { bash, eventually, runScript, type StartScript, startScript, TestTrust } from './script.fixture.ts';
import { createScriptHandler } from './script-handler.ts';

const GROUP: Containment = { kind: 'group', canHide: false, hasLimits: true, hasSetpriv: true };
const found = await probeContainment(undefined, []);
const isContained = found.kind === 'namespace';

let count = 0;
/** A duration that no other process sleeps for. */
const marker = () => {
  count += 1;
  return `7000.${process.pid}${count}`;
};

function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
      } catch {
        return '';
      }
    });
}
const sleepersOf = (mark: string) =>
  commandLines().filter((line) => line.startsWith('sleep') && line.includes(mark));

const HOSTILE = {
  'in the background': (mark: string) => `sleep ${mark} &`,
  'with setsid': (mark: string) => `setsid sleep ${mark} &`,
  'forked twice': (mark: string) => `( ( sleep ${mark} & ) & )`,
  'with nohup': (mark: string) => `nohup sleep ${mark} >/dev/null 2>&1 &`,
  'with setsid and an empty environment': (mark: string) => `env -i setsid sleep ${mark} &`,
  'deaf to TERM': (mark: string) => `bash -c 'trap "" TERM; sleep ${mark}; sleep ${mark}' &`,
  'started when it is told to stop': (mark: string) =>
    `trap 'setsid sleep ${mark} & sleep ${mark}' TERM; true &`,
};
/** A sweep of /proc cannot find what drops its session, its parents and its environment at once. */
const NOT_FOUND_BY_COOKIE = new Set(['with setsid and an empty environment']);

const kinds: [string, Containment][] = [
  ...(found.isOneStep ? ([['a namespace made in one step', found]] as [string, Containment][]) : []),
  ...(isContained ? ([['a namespace', { ...found, isOneStep: false }]] as [string, Containment][]) : []),
  ['a group', GROUP],
];

describe.each(kinds)('in %s', (_, containment) => {
  const options = { containment, graceMs: 300 };
  const hostile = Object.entries(HOSTILE).filter(
    ([kind]) => containment.kind === 'namespace' || !NOT_FOUND_BY_COOKIE.has(kind),
  );

  const ending = hostile
    .map(([kind, start]) => [kind, start] as const)
    .filter(([kind]) => !kind.startsWith('started'));

  test.each([
    ...ending,
    ['started at its end', (mark: string) => `trap 'setsid sleep ${mark} &' EXIT`] as const,
  ])('a child %s does not outlive a script that ends', async (_kind, start) => {
    const mark = marker();
    const { outcome } = await runScript({ ...bash(`${start(mark)}\nsleep 0.2; echo done`), options });
    expect(outcome.kind).toBe('SUCCESS');
    await eventually(() => sleepersOf(mark).length === 0);
  });

  test.each(hostile)('a child %s does not outlive a script that is stopped', async (_kind, start) => {
    const mark = marker();
    const script = `${start(mark)}\nsleep ${mark} & echo up; wait; sleep ${mark}`;
    const { run, channel, ended } = startScript({ ...bash(script), options });
    await eventually(() => channel.text().includes('up') && sleepersOf(mark).length > 0);
    run.requestStop('timed_out', 'ran longer than 1 s', 0);
    expect(await ended).toEqual({ kind: 'TIMED_OUT', error: 'ran longer than 1 s' });
    await eventually(() => sleepersOf(mark).length === 0);
  });

  test.each(ending)('a child %s does not outlive the trust in its worker', async (_kind, start) => {
    const mark = marker();
    const trust = new TestTrust();
    const script = `${start(mark)}\necho up; sleep ${mark}`;
    const { channel, ended } = startScript({ ...bash(script), options, trust });
    await eventually(() => channel.text().includes('up') && sleepersOf(mark).length === 2);
    trust.renew(0);
    expect(await ended).toMatchObject({ error: expect.stringContaining('SIGKILL') });
    await eventually(() => sleepersOf(mark).length === 0);
  });

  test('TERM comes first: a script can tidy up, and is not taken to have succeeded', async () => {
    const script = `trap 'echo tidy; exit 0' TERM; echo up; while :; do sleep 0.05; done`;
    const { run, channel, ended } = startScript({
      ...bash(script),
      options: { containment, graceMs: 60_000 },
    });
    await eventually(() => channel.text().includes('up'));
    run.requestStop('timed_out', 'too long', 0);
    expect(await ended).toEqual({ kind: 'TIMED_OUT', error: 'too long' });
    expect(channel.text()).toBe('up\ntidy\n');
  });

  test('a script that is deaf to TERM is killed after the grace', async () => {
    const script = `trap '' TERM; echo up; while :; do sleep 0.05; done`;
    const { run, channel, ended } = startScript({ ...bash(script), options });
    await eventually(() => channel.text().includes('up'));
    run.requestStop('cancelled', 'cancelled while running', 0);
    expect(await ended).toEqual({ kind: 'CANCELLED', error: 'cancelled while running' });
    expect(channel.text('system')).toContain('ended by SIGKILL');
  });

  test('a run that was stopped before it began starts nothing', async () => {
    const { run, channel, ended } = startScript({ ...bash('echo up'), options });
    run.requestStop('returned', 'shut down', 0);
    expect(await ended).toEqual({ kind: 'RETURNED', error: 'shut down' });
    expect(channel.chunks).toEqual([]);
  });

  test('too many processes end the script, not the worker', async () => {
    const limits = { memoryBytes: 2 ** 30, cpuSeconds: 60, processes: 30, files: 256, fileBytes: 2 ** 30 };
    const mark = marker();
    // A bounded number of forks: 200 at most.
    const script = `for i in $(seq 200); do sleep ${mark} & done 2>/dev/null; wait`;
    const { outcome } = await runScript({ ...bash(script), options: { ...options, limits } });
    expect(outcome).toMatchObject({ kind: 'FAILED' });
    await eventually(() => sleepersOf(mark).length === 0);
  });
});

describe('limits', () => {
  const limits = { memoryBytes: 256 * 2 ** 20, cpuSeconds: 60, processes: 64, files: 64, fileBytes: 2 ** 20 };
  const limited = (start: StartScript, over: Partial<typeof limits> = {}): StartScript => ({
    ...start,
    options: { limits: { ...limits, ...over } },
  });

  test.each([
    ['python3', 'x = bytearray(2_000_000_000)'],
    [
      'python3',
      'import time\nx = []\nfor i in range(100):\n  x.append(bytearray(b"x" * 10_000_000))\n  time.sleep(0.02)',
    ],
    ['perl', 'my @x; push @x, "x" x 10_000_000 while 1'],
    ['bash', 'for i in 1 2 3; do perl -e \'$x = "x" x 120_000_000; sleep 60\' & done; wait'],
  ])('a memory hog in %s dies, and its end is named: %j', async (interpreter, script) => {
    const { outcome, result } = await runScript(limited({ payload: { interpreter, script } }));
    expect(outcome).toMatchObject({
      kind: 'FAILED',
      error: expect.stringContaining('the script ran out of memory'),
    });
    expect(result).toMatchObject({ reason: 'out_of_memory' });
  });

  test('CPU time is limited', async () => {
    const { outcome, result } = await runScript(limited(bash('while :; do :; done'), { cpuSeconds: 1 }));
    expect(outcome).toMatchObject({ error: expect.stringContaining('more CPU time than it may') });
    expect(result).toMatchObject({ reason: 'cpu_limit' });
  });

  test('CPU time of all processes together is limited', async () => {
    const script = 'for i in 1 2 3; do (while :; do :; done) & done; wait';
    const { result } = await runScript(limited(bash(script), { cpuSeconds: 2 }));
    expect(result).toMatchObject({ reason: 'cpu_limit' });
  });

  test('the size of a file is limited', async () => {
    const { result } = await runScript(limited(bash('exec head -c 5000000 /dev/zero > big')));
    expect(result).toMatchObject({ reason: expect.stringMatching(/file_size_limit|exit_code/) });
  });

  test('open files are limited', async () => {
    const script = 'x = [open("/dev/null") for i in range(500)]';
    const { outcome } = await runScript(limited({ payload: { interpreter: 'python3', script } }));
    expect(outcome).toMatchObject({ error: expect.stringContaining('Too many open files') });
  });

  test('interpreters start within the limit on memory', async () => {
    for (const interpreter of ['bash', 'python3', 'perl']) {
      const script = interpreter === 'bash' ? 'echo 1' : 'print(1)';
      expect((await runScript(limited({ payload: { interpreter, script } }))).outcome.kind).toBe('SUCCESS');
    }
    const node = limited(
      { payload: { interpreter: 'node', script: 'console.log(1)' } },
      { memoryBytes: 2 ** 30 },
    );
    expect((await runScript(node)).outcome.kind).toBe('SUCCESS');
  });
});

const contained = kinds.filter(([, { kind }]) => kind === 'namespace');

describe.runIf(isContained).each(contained)('in %s', (_, containment) => {
  test('a script sees neither the processes of others nor the folders that are hidden from it', async () => {
    const script =
      'ls /proc | grep -c "^[0-9]"; ls -A "$1" | wc -l; cat "$2" | wc -c; umount "$1" 2>/dev/null || echo no';
    const payload = { interpreter: 'bash', script, args: ['/usr/share', '/etc/passwd'] };
    const { channel } = await runScript({
      payload,
      options: { containment, hidden: ['/usr/share', '/etc/passwd', '/nowhere'] },
    });
    const [processes, files, bytes, last] = channel.text().trim().split('\n');
    expect(Number(processes)).toBeLessThan(10);
    expect([files, bytes, last]).toEqual(['0', '0', 'no']);
  });

  test.runIf(process.geteuid?.() === 0)('nor does a script of another user, who can read it', async () => {
    const home = mkdtempSync(join(tmpdir(), 'carillon-hidden-'));
    chmodSync(home, 0o755);
    const paths = ['folder', 'file', 'closed'].map((name) => join(home, name));
    mkdirSync(paths[0]!);
    mkdirSync(paths[2]!, { mode: 0o700 });
    for (const path of [join(paths[0]!, 'in it'), paths[1]!]) writeFileSync(path, 'the secret');
    const options = { containment, hidden: [...paths, ...paths], user: { uid: 65_534, gid: 65_534 } };
    const script = 'cat "$1"/*/* "$1"/* 2>/dev/null; echo end';
    const { channel } = await runScript({ ...bash(script, { args: [home] }), options });
    expect(channel.text()).toBe('end\n');
    rmSync(home, { recursive: true });
  });

  test('a script does not find what is hidden under another name that one before it gave to a folder above', async () => {
    const home = mkdtempSync(join(tmpdir(), 'carillon-hidden-'));
    const [before, moved] = [join(home, 'before'), join(home, 'moved')];
    const kept = ['data/admin.key', 'settings.json'];
    mkdirSync(join(before, 'data'), { recursive: true });
    for (const name of kept) writeFileSync(join(before, name), 'the secret');
    const handler = createScriptHandler({
      ...{ containment, hidden: [join(before, 'data'), join(before, 'settings.json')] },
    });
    const run = (script: string, ...args: string[]) =>
      runScript({ payload: { interpreter: 'bash', script, args }, handler });
    const read = 'cat "$1"/data/admin.key "$1"/settings.json 2>/dev/null; true';
    try {
      expect((await run(read, before)).channel.text()).toBe('');
      const moves = await run('mv "$1" "$2"; mkdir -p "$1/data"', before, moved);
      expect(moves.outcome.kind).toBe('SUCCESS');
      const reads = await run(read, moved);
      expect(reads.channel.text()).toBe('');
      expect(reads.outcome).toMatchObject({ kind: 'FAILED', retryable: true });
      expect(reads.channel.text('stderr')).toContain(
        `${before}/data, which is hidden from scripts, is not where it was`,
      );

      rmSync(before, { recursive: true });
      renameSync(moved, before);
      expect((await run(`${read}; echo back`, before)).channel.text()).toBe('back\n');
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });

  test('neither it nor the first process has any right, and nothing more is open than it is given', async () => {
    const script = `grep -h '^Cap' /proc/1/status /proc/self/status | cut -f 2 | sort -u; grep NoNewPrivs /proc/self/status
      cat /proc/self/oom_score_adj; [ -e /proc/self/fd/4 ] || echo closed; readlink /proc/self/ns/ipc /proc/self/ns/user`;
    const { channel } = await runScript({ ...bash(script), options: { containment } });
    const [rights, privileges, score, last, ...spaces] = channel.text().trim().split('\n');
    expect([rights, privileges, score, last]).toEqual(['0'.repeat(16), 'NoNewPrivs:\t1', '500', 'closed']);
    expect(spaces).not.toContain(readlinkSync('/proc/self/ns/ipc'));
    expect(spaces).not.toContain(readlinkSync('/proc/self/ns/user'));
  });

  test('it has all limits, its variables as they are, and the end that it had', async () => {
    const limits = {
      memoryBytes: 300 * 2 ** 20,
      cpuSeconds: 50,
      processes: 40,
      files: 60,
      fileBytes: 2 ** 20,
    };
    // One of these would change what the program around the script does.
    const env = { EMPTY: '', TWO: 'a=b\nc', PERL_UNICODE: 'SDA', WORD: 'ä' };
    const script = `ulimit -c; ulimit -d; ulimit -t; ulimit -u; ulimit -n; ulimit -f
      echo "$EMPTY|$TWO|$PERL_UNICODE|$WORD"; echo err >&2; kill -SEGV $$`;
    const { result, channel } = await runScript({
      ...bash(script, { env, merge_output: true }),
      options: { containment, limits },
    });
    const expected = ['0', String(300 * 1_024), '50', '41', '60', '1024', '|a=b', 'c|SDA|ä'];
    expect(channel.text().trim().split('\n')).toEqual([...expected, 'err']);
    expect(result).toMatchObject({ signal: 'SIGSEGV', reason: 'signal' });
  });

  test('variables that are too long are named', async () => {
    const env = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`V${i}`, 'x'.repeat(120_000)]));
    const { outcome } = await runScript({ ...bash(':', { env }), options: { containment } });
    expect(outcome).toMatchObject({ retryable: false, error: expect.stringContaining('too long') });
  });
});

describe.runIf(process.geteuid?.() === 0)('as another user', () => {
  const user = { uid: 65_534, gid: 65_534 };
  const secret = '/etc/shadow';

  test.each(kinds)(
    'in %s it has the rights of that user alone, in a folder of its own',
    async (_, containment) => {
      const options = { user, containment };
      const script = `id -u; id -G; cat ${secret} 2>/dev/null || echo refused; echo mine > file && cat file; kill -0 ${process.pid} 2>/dev/null || echo alone; grep NoNewPrivs /proc/self/status; echo err > /dev/stderr`;
      const { outcome, channel } = await runScript({ ...bash(script), options });
      expect(channel.text('stderr')).toBe('err\n');
      expect(outcome.kind).toBe('SUCCESS');
      expect(channel.text().trim().split('\n')).toEqual([
        '65534',
        '65534',
        'refused',
        'mine',
        'alone',
        'NoNewPrivs:\t1',
      ]);
    },
  );

  test('it is stopped like any other', async () => {
    const mark = marker();
    const { run, channel, ended } = startScript({
      ...bash(`setsid sleep ${mark} & trap '' TERM; echo up; sleep ${mark}; sleep ${mark}`),
      options: { user, graceMs: 200 },
    });
    await eventually(() => channel.text().includes('up'));
    run.requestStop('cancelled', 'stop', 0);
    await ended;
    await eventually(() => sleepersOf(mark).length === 0);
  });
});
