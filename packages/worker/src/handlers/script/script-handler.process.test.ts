import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { bash, eventually, RecordingChannel, runScript, startScript } from './script.fixture.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'carillon-script-test-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('a script', () => {
  test('that exits with 0 succeeds; stdout and stderr are kept apart', async () => {
    const { outcome, channel } = await runScript(bash('echo out; echo err >&2'));
    expect(outcome).toEqual({ kind: 'SUCCESS', result: '{"exit_code":0}' });
    expect(channel.text('stdout')).toBe('out\n');
    expect(channel.text('stderr')).toBe('err\n');
    expect(channel.text('system')).toMatch(/^exit code 0 after [\d.]+ s, [\d.]+ s of CPU time/);
  });

  test('that merges its output has one stream, in the order it was written', async () => {
    const lines = 'for i in 1 2 3; do echo o$i; echo e$i >&2; done';
    const { channel } = await runScript(bash(lines, { merge_output: true }));
    expect(channel.text('stdout')).toBe('o1\ne1\no2\ne2\no3\ne3\n');
    expect(channel.text('stderr')).toBe('');
  });

  test('can open its output by name', async () => {
    const { channel } = await runScript(
      bash('echo a > /dev/stdout; echo b > /dev/stderr; cat /dev/stdin', { stdin: 'c' }),
    );
    expect([channel.text('stdout'), channel.text('stderr')]).toEqual(['a\nc\n', 'b\n']);
  });

  test.each([
    ['exit 3', { exit_code: 3, signal: null, reason: 'exit_code' }, 'the script ended with exit code 3'],
    ['echo why >&2; exit 1', { exit_code: 1 }, 'the script ended with exit code 1: why'],
    ['exit 75', { exit_code: 75, reason: 'try_again' }, 'exit code 75 (it asks to be tried again)'],
    ['kill -SEGV $$', { signal: 'SIGSEGV', reason: 'signal' }, 'the script was ended by SIGSEGV'],
    ['kill -KILL $$', { signal: 'SIGKILL', reason: 'signal' }, 'ended by SIGKILL (Carillon did not send it)'],
  ])('%s fails with its exit code, signal and reason', async (script, about, error) => {
    const { outcome, result } = await runScript(bash(script));
    expect(outcome).toMatchObject({ kind: 'FAILED', retryable: true, error: expect.stringContaining(error) });
    expect(result).toMatchObject(about);
  });

  test('gets its payload on stdin and as a file, and its run in the environment', async () => {
    const script =
      'cat; echo; cat "$CARILLON_PAYLOAD_FILE"; echo; env | grep ^CARILLON | sort; pwd; stat -c %a .';
    const { payload } = bash(script, { args: ['x'], who: 'world' });
    const { channel } = await runScript({ payload });
    const [stdin, file, ...rest] = channel.text().trim().split('\n');
    expect(JSON.parse(stdin!)).toEqual(payload);
    expect(JSON.parse(file!)).toEqual(payload);
    const mode = rest.pop();
    const cwd = rest.pop()!;
    expect(mode).toBe('700');
    expect(rest.map((line) => line.replace(/COOKIE=.*/, 'COOKIE='))).toEqual([
      `CARILLON_ARTIFACTS=${cwd}/artifacts`,
      'CARILLON_ATTEMPT=1',
      `CARILLON_CHECKPOINT_FILE=${cwd}/checkpoint.json`,
      'CARILLON_EPOCH=1',
      'CARILLON_JOB_ID=job-1',
      `CARILLON_PAYLOAD_FILE=${cwd}/payload.json`,
      'CARILLON_RUN_COOKIE=',
      'CARILLON_RUN_ID=run-1',
      'CARILLON_SCHEDULED_AT=2030-01-01T00:00:00.000Z',
    ]);
    expect(existsSync(cwd)).toBe(false);
  });

  test('gets nothing of the environment of the worker but what is passed on', async () => {
    // Other files of tests run in this process too.
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv('CARILLON_TEST_SECRET', 'x');
    vi.stubEnv('SHARED_WORD', 'shared');
    const { channel } = await runScript({
      ...bash('env', { env: { OWN: 'own', COUNT: 3 } }),
      options: { passEnv: ['SHARED_WORD', 'CARILLON_TEST_SECRET', 'LD_PRELOAD'] },
    });
    const names = channel
      .text()
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]!);
    const own = [
      'HOME',
      'LANG',
      'OWN',
      'COUNT',
      'PATH',
      'PYTHONUNBUFFERED',
      'SHARED_WORD',
      'TMPDIR',
      'PWD',
      'OLDPWD',
      'SHLVL',
      '_',
    ];
    expect(names.filter((name) => !name.startsWith('CARILLON_') && !own.includes(name))).toEqual([]);
    expect(channel.text()).toContain('OWN=own\n');
    expect(channel.text()).toContain('SHARED_WORD=shared\n');
    expect(channel.text()).not.toContain('CARILLON_TEST_SECRET');
  });

  test('removes its folder, also what it made unreadable', async () => {
    const workFolder = mkdtempSync(join(folder, 'work-'));
    await runScript({ ...bash('mkdir -p a/b; touch a/b/c; chmod 000 a/b a'), options: { workFolder } });
    expect(readdirSync(workFolder)).toEqual([]);
  });

  test('a folder that a killed worker left is removed, one of a living worker is not', async () => {
    const workFolder = mkdtempSync(join(folder, 'work-'));
    const { run, ended, channel } = startScript({ ...bash('echo up; sleep 60'), options: { workFolder } });
    while (channel.text() === '') await new Promise((resolve) => setTimeout(resolve, 20));
    const [living] = readdirSync(workFolder);
    const dead = living!.replace(/-(\d+)-(\d+)-/, '-$1-999999999-');
    mkdirSync(join(workFolder, dead));
    const { channel: second } = await runScript({ ...bash('echo hi'), options: { workFolder } });
    expect(second.text()).toBe('hi\n');
    expect(readdirSync(workFolder)).toEqual([living]);
    run.requestStop('cancelled', 'stop', 0);
    await ended;
  });
});

describe('what a script took of the machine', () => {
  test('is kept with its run, also when it is stopped', async () => {
    const { run, channel, ended } = startScript(bash('echo up; sleep 600'));
    await eventually(() => channel.text().includes('up'));
    // It is looked at soon after its start, by a timer of this process: any that was set later fires later.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    run.requestStop('timed_out', 'too long', 0);
    expect(await ended).toMatchObject({ kind: 'TIMED_OUT' });
    expect(run.usage?.peakMemoryBytes).toBeGreaterThan(0);
    expect(run.usage?.cpuSeconds).toBeGreaterThanOrEqual(0);
  });
});

describe('no payload reaches a shell (hazard 36)', () => {
  const words = [
    '$(id)',
    '`id`',
    '; id',
    '&& id',
    '| id',
    "'; id; '",
    '" ; id ; "',
    '-c',
    '--',
    '*',
    '$PATH',
    '\n id',
    '>x',
  ];

  test('arguments arrive as they are', async () => {
    const { channel } = await runScript(bash('printf "%s\\0" "$@"', { args: words }));
    expect(channel.text().split('\0').slice(0, -1)).toEqual(words);
  });

  test('values of variables arrive as they are', async () => {
    for (const word of words) {
      const { channel } = await runScript(bash('printf "%s\\n" "$WORD"', { env: { WORD: word } }));
      expect(channel.text()).toBe(`${word}\n`);
    }
  });

  test('data in the payload is only data', async () => {
    const { channel } = await runScript(
      bash('cat >/dev/null; ls -A', { data: '$(touch made)', stdin: '$(touch made)' }),
    );
    expect(channel.text().trim().split('\n').toSorted()).toEqual([
      'artifacts',
      'payload.json',
      'script',
      'stdin',
    ]);
  });

  test.each([
    'LD_PRELOAD',
    'BASH_ENV',
    'ENV',
    'NODE_OPTIONS',
    'PYTHONSTARTUP',
    'PERL5OPT',
    'RUBYOPT',
    'CARILLON_RUN_ID',
  ])('the variable %s is refused, and nothing starts', async (name) => {
    const { outcome, channel } = await runScript(bash('echo started', { env: { [name]: 'x' } }));
    expect(outcome).toMatchObject({ kind: 'FAILED', retryable: false, error: expect.stringContaining(name) });
    expect(channel.chunks).toEqual([]);
  });

  test('the PATH of a job does not decide which programs contain it', async () => {
    const bin = mkdtempSync(join(folder, 'bin-'));
    for (const name of ['setpriv', 'unshare', 'prlimit', 'sh', 'mkfifo', 'bash'])
      writeFileSync(join(bin, name), '#!/bin/bash\necho hijacked >&2\nexit 9\n', { mode: 0o755 });
    const { outcome, channel } = await runScript(bash('echo fine', { env: { PATH: bin } }));
    expect(outcome.kind).toBe('SUCCESS');
    expect(channel.text('stderr')).toBe('');
  });
});

describe('the interpreter', () => {
  test.each([
    ['python3', 'import sys; print(sys.argv[1:])', "['a']\n"],
    ['perl', 'print "@ARGV\\n"', 'a\n'],
    ['node', 'console.log(process.argv.slice(2))', "[ 'a' ]\n"],
    ['sh', 'echo "$1"', 'a\n'],
  ])('%s is found by its name', async (interpreter, script, output) => {
    const { channel, outcome } = await runScript({ payload: { interpreter, script, args: ['a'] } });
    expect(outcome.kind).toBe('SUCCESS');
    expect(channel.text()).toBe(output);
  });

  test.each([
    ['#!/usr/bin/env python3\nprint(1)', '1\n'],
    ['#!/bin/bash -e\nfalse\necho not reached', ''],
    ['#!/usr/bin/env -S bash -u\n[[ $- == *u* ]] && echo set', 'set\n'],
    ['#!/usr/bin/awk -f\nBEGIN { print 2 }', '2\n'],
    ['echo without a first line', 'without a first line\n'],
  ])('is read from the first line of %j', async (script, output) => {
    expect((await runScript({ payload: { script } })).channel.text()).toBe(output);
  });

  test.each([
    [
      { interpreter: 'cobol', script: 'x' },
      'there is no interpreter "cobol": the setting script.interpreters names bash',
    ],
    [{ interpreter: 'ruby', script: 'x' }, 'ruby is not installed on this worker'],
    [{ script: '#!/nowhere/x\n' }, 'there is no interpreter "/nowhere/x"'],
    [{ script: '#!/usr/bin/env nothing\n' }, 'there is no interpreter "nothing"'],
  ])('that is missing is a final error: %j', async (payload, error) => {
    const options = { interpreters: ['bash', 'ruby=/nowhere/ruby'] };
    const { outcome } = await runScript({ payload, options });
    expect(outcome).toMatchObject({
      kind: 'FAILED',
      retryable: false,
      error: expect.stringContaining(error),
    });
  });

  test('can be given by its path in the settings', async () => {
    const options = { interpreters: ['shell=/bin/bash'] };
    const { channel } = await runScript({ payload: { interpreter: 'shell', script: 'echo $0' }, options });
    expect(channel.text()).toMatch(/\/script\n$/);
  });
});

describe('a script by its path', () => {
  const place = () => {
    const root = mkdtempSync(join(folder, 'root-'));
    writeFileSync(join(root, 'a.sh'), '#!/bin/bash\ncat "$(dirname "$0")/beside"\n');
    writeFileSync(join(root, 'beside'), 'beside\n');
    return root;
  };

  test('runs where it lies, beside what it loads', async () => {
    const root = place();
    const { channel } = await runScript({
      payload: { code_location: join(root, 'a.sh') },
      options: { roots: [root] },
    });
    expect(channel.text()).toBe('beside\n');
  });

  test('outside of the folders, or by a link or .. that leads outside, is refused', async () => {
    const [root, other] = [place(), place()];
    symlinkSync(join(other, 'a.sh'), join(root, 'link.sh'));
    for (const path of [
      join(other, 'a.sh'),
      join(root, 'link.sh'),
      `${root}/../${other.split('/').at(-1)}/a.sh`,
      `${root}x/a.sh`,
    ]) {
      const { outcome } = await runScript({ payload: { code_location: path }, options: { roots: [root] } });
      expect(outcome).toMatchObject({
        kind: 'FAILED',
        retryable: false,
        error: expect.stringContaining('script.roots'),
      });
    }
  });

  test('that is not there is a final error', async () => {
    const root = place();
    const payload = { code_location: join(root, 'none.sh') };
    const { outcome } = await runScript({ payload, options: { roots: [root] } });
    expect(outcome).toMatchObject({
      retryable: false,
      error: expect.stringContaining('there is no such file'),
    });
    expect((await runScript({ payload })).outcome).toMatchObject({
      error: expect.stringContaining('script.roots'),
    });
  });

  test('with a digest runs what was checked, and nothing else', async () => {
    const root = place();
    const path = join(root, 'b.sh');
    writeFileSync(path, 'echo checked');
    const options = { roots: [root] };
    const payload = { interpreter: 'sh', code_location: path, sha256: sha256('echo checked') };
    expect((await runScript({ payload, options })).channel.text()).toBe('checked\n');
    writeFileSync(path, 'echo changed');
    const { outcome, channel } = await runScript({ payload, options });
    expect(outcome).toMatchObject({ retryable: false, error: expect.stringContaining('SHA-256') });
    expect(channel.text()).toBe('');
  });
});

describe('descriptor 3', () => {
  test('tells progress, checkpoints and the result', async () => {
    const { outcome, channel } = await runScript(
      bash(`for i in 25 50; do echo "{\\"progress\\":$i,\\"message\\":\\"step $i\\"}" >&3; echo "{\\"checkpoint\\":$i}" > /dev/fd/3; done
printf '{"result":{"rows":7}}' >&3`),
    );
    expect(channel.progressed).toEqual([
      { percent: 25, message: 'step 25' },
      { percent: 50, message: 'step 50' },
    ]);
    expect(channel.checkpoints.at(-1)).toBe(50);
    expect(outcome).toEqual({ kind: 'SUCCESS', result: '{"rows":7}' });
  });

  test.each([
    [
      '{"fail":{"error":"no disk","retryable":false}}',
      { error: 'the script reported an error: no disk', retryable: false },
    ],
    ['{"fail":{"error":"busy"}}', { error: 'the script reported an error: busy', retryable: true }],
  ])('%s fails the run, whatever the exit code', async (line, expected) => {
    const { outcome, result } = await runScript(bash(`echo '${line}' >&3`));
    expect(outcome).toMatchObject({ kind: 'FAILED', ...expected });
    expect(result).toEqual({ exit_code: 0, signal: null, reason: 'reported' });
  });

  test('what is not understood there is told in the log and harms nothing', async () => {
    const { outcome, channel } = await runScript(
      bash(`echo nonsense >&3; echo '[1]' >&3; echo '{"progres":1}' >&3; echo '{"progress":"x"}' >&3; echo >&3
head -c 1500000 /dev/zero | tr '\\0' x >&3; echo >&3; echo '{"result":1}' >&3
echo '{"result":{"rows":[1e999]}}' >&3`),
    );
    expect(outcome).toEqual({ kind: 'SUCCESS', result: '1' });
    const lines = channel.text('system').trim().split('\n');
    expect(lines.slice(0, -1)).toEqual([
      'line 1 on descriptor 3 is not a JSON object: nonsense',
      'line 2 on descriptor 3 is not a JSON object: [1]',
      'line 3 on descriptor 3 has a member "progres", which is not known',
      'line 4 on descriptor 3 has no progress that is a number from 0 to 100',
      'line 6 on descriptor 3 is longer than 1048576 bytes',
      'line 8 on descriptor 3 holds a number that is too large: {"result":{"rows":[1e999]}}',
    ]);
  });

  test('a flood of nonsense does not flood the log', async () => {
    const { channel } = await runScript(bash('for i in $(seq 500); do echo x$i; done >&3'));
    expect(channel.text('system').split('\n').length).toBeLessThan(30);
  });

  test('a checkpoint that is refused is told, and the run goes on', async () => {
    class Refusing extends RecordingChannel {
      override async saveCheckpoint(): Promise<void> {
        throw new Error('too large');
      }
    }
    const { outcome, channel } = await runScript({
      ...bash(`echo '{"checkpoint":1}' >&3`),
      channel: new Refusing(),
    });
    expect(outcome.kind).toBe('SUCCESS');
    expect(channel.text('system')).toContain('a checkpoint was not saved: too large');
  });

  test('an earlier checkpoint is in a file; without one there is no file', async () => {
    const script = 'cat "$CARILLON_CHECKPOINT_FILE" 2>/dev/null || echo none';
    expect((await runScript({ ...bash(script), checkpoint: { at: 3 } })).channel.text()).toBe('{"at":3}\n');
    expect((await runScript(bash(script))).channel.text()).toBe('none\n');
  });
});
