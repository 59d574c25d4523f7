/** The launcher starts what it is told with what the worker has open, tells how it ended, and ends with the worker and what it started. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { machineMs } from './guard-program.ts';
import type { LaunchOrder } from './launcher-program.ts';
import { readProcess } from './process-table.ts';
import { bash, eventually, runScript, startScript } from './script.fixture.ts';
import { ScriptLauncher, scriptLauncher } from './script-launcher.ts';

let folder: string;
let launcher: ScriptLauncher;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'carillon-launcher-test-'));
  launcher = new ScriptLauncher();
});
afterEach(() => {
  if (launcher.pid !== undefined) process.kill(launcher.pid, 'SIGKILL');
  rmSync(folder, { recursive: true });
});

const order = (script: string, more: Partial<LaunchOrder> = {}): LaunchOrder => ({
  ...{ command: ['/bin/sh', '-c', script], cwd: folder, env: { WORD: 'word' }, ...more },
});

function isRunning(pid: number): boolean {
  const found = readProcess(pid);
  return found !== undefined && !found.isZombie;
}

const isLinux = process.platform === 'linux';

describe.each([
  ...(isLinux ? [['by a launcher', true] as const] : []),
  ['by the worker itself', false] as const,
])('%s', (_, canDelegate) => {
  test('a program gets its folder, its variables and the descriptors of the worker, and its end is told', async () => {
    launcher = new ScriptLauncher(canDelegate);
    const [input, output] = ['input', 'output'].map((name) => join(folder, name)) as [string, string];
    writeFileSync(input, 'read\n');
    writeFileSync(output, '');
    const descriptors = [openSync(input, 'r'), openSync(output, 'w'), openSync('/dev/null', 'w')];
    // What is open is passed on, whatever has its name by now.
    rmSync(input);
    writeFileSync(input, 'another\n');
    const script = 'read -r line; echo "$line $WORD"; pwd; echo said >&3; exit 7';
    const launched = await launcher.launch(() => order(script, { descriptors, last: 'told' }));
    for (const fd of descriptors) closeSync(fd);
    expect(await launched!.end).toMatchObject({ code: 7, signal: null, said: 'said\n' });
    expect(readFileSync(output, 'utf8')).toBe(`read word\n${folder}\n`);
    expect(launcher.pid !== undefined).toBe(canDelegate);
  });

  test('a signal is told, and many run at the same time', async () => {
    launcher = new ScriptLauncher(canDelegate);
    const ends = await Promise.all(
      Array.from({ length: 20 }, (_, i) => launcher.run(order(i === 3 ? 'kill -9 $$' : `exit ${i}`))),
    );
    expect(ends.map((end) => end?.code)).toEqual(Array.from({ length: 20 }, (_, i) => (i === 3 ? null : i)));
    expect(ends[3]?.signal).toBe('SIGKILL');
  });

  test('what cannot be started is told with its code, and what may not start any more is not started', async () => {
    launcher = new ScriptLauncher(canDelegate);
    await expect(launcher.run({ command: ['/nowhere'], cwd: folder, env: {} })).rejects.toMatchObject({
      code: 'ENOENT',
    });
    const long = order(':', { env: { LONG: 'x'.repeat(3_000_000) } });
    await expect(launcher.run(long)).rejects.toMatchObject({ code: 'E2BIG' });
    expect(await launcher.launch(() => undefined)).toBeUndefined();
    // As after the machine stood still: the order is read when the trust has ended.
    const late = order('touch started', { beforeMs: machineMs() });
    await expect(launcher.run(late)).rejects.toThrow('the trust in the worker ended');
    expect(() => readFileSync(join(folder, 'started'))).toThrow('ENOENT');
    expect(await launcher.run(order('exit 4', { beforeMs: machineMs() + 600_000 }))).toMatchObject({
      code: 4,
    });
  });

  test('what takes too long is killed', async () => {
    launcher = new ScriptLauncher(canDelegate);
    expect(await launcher.run(order('sleep 7000', { timeoutMs: 100 }))).toMatchObject({ signal: 'SIGKILL' });
  });
});

describe.runIf(isLinux)('a launcher', () => {
  test('is not reached by what a terminal sends to the worker, and goes on when a service manager tells all to end', async () => {
    await launcher.run(order(':'));
    const pid = launcher.pid!;
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(pid, signal);
    expect(await launcher.run(order('exit 3'))).toMatchObject({ code: 3 });
    expect(launcher.pid).toBe(pid);
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    expect(Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[3])).toBe(pid);
  });

  test('that is killed ends what it started, and the next script gets another', async () => {
    const launched = await launcher.launch(() => order('sleep 7000'));
    const first = launcher.pid!;
    process.kill(first, 'SIGKILL');
    expect(await launched!.end).toBeUndefined();
    process.kill(launched!.root.pid, 'SIGKILL');
    expect(await launcher.run(order('exit 5'))).toMatchObject({ code: 5 });
    expect(launcher.pid).not.toBe(first);
  });

  test('that is killed costs the scripts that run, and nothing of them is left', async () => {
    const script = 'setsid sleep 7000.25 & echo "$!"; sleep 7000.25';
    const { channel, ended } = startScript(bash(script));
    await eventually(() => channel.text().endsWith('\n'));
    const pid = scriptLauncher.pid!;
    process.kill(pid, 'SIGKILL');
    expect(await ended).toMatchObject({ kind: 'FAILED', error: expect.stringContaining('SIGKILL') });
    await eventually(() => !isRunning(pid));
    const { outcome } = await runScript(bash('! pgrep -f "^sleep 7000.25"'));
    expect(outcome.kind).toBe('SUCCESS');
  });
});

/** Starts a script as a worker does. */
const WORKER = `
const { ScriptLauncher } = await import(process.argv[1]);
const launcher = new ScriptLauncher();
const command = ['/usr/bin/setpriv', '--pdeathsig', 'KILL', 'sleep', '7000'];
const { root } = await launcher.launch(() => ({ command, cwd: '/', env: { PATH: process.env.PATH }, isDetached: true }));
console.log(JSON.stringify({ sleeper: root.pid, launcher: launcher.pid }));
`;

describe.runIf(isLinux)('when the worker has died', () => {
  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'by %s, its launcher ends, and its scripts with it',
    async (signal) => {
      const url = new URL('script-launcher.ts', import.meta.url).href;
      const worker: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', WORKER, url], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [line] = (await once(worker.stdout!, 'data')) as [Buffer];
      const pids = JSON.parse(line.toString()) as { sleeper: number; launcher: number };
      expect(isRunning(pids.sleeper)).toBe(true);
      worker.kill(signal);
      await eventually(() => !isRunning(pids.launcher));
      await eventually(() => !isRunning(pids.sleeper));
    },
  );
});
