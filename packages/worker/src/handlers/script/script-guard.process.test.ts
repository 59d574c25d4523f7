/** The guard ends the scripts of a worker that cannot: when the trust in it ends, and when it has died (hazard 14); and nothing else. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Guard, machineAheadMs, machineMs } from './guard-program.ts';
import { readProcess } from './process-table.ts';
import { COOKIE_VARIABLE } from './process-tree.ts';
import { eventually, TestTrust } from './script.fixture.ts';
import { ScriptGuard } from './script-guard.ts';

let guard: ScriptGuard;
let sleepers: ChildProcess[];
let endAll: (() => void)[];

beforeEach(() => {
  guard = new ScriptGuard();
  sleepers = [];
  endAll = [];
});

afterEach(() => {
  // Without runs no other guard is started.
  for (const end of endAll) end();
  if (guard.pid !== undefined) process.kill(guard.pid, 'SIGKILL');
  for (const sleeper of sleepers) sleeper.kill('SIGKILL');
});

function sleeperWith(cookie: string = randomUUID()): ChildProcess & { pid: number } {
  const env = { PATH: process.env.PATH, [COOKIE_VARIABLE]: cookie };
  const sleeper = spawn('sleep', ['7000'], { env, detached: true, stdio: 'ignore' });
  sleepers.push(sleeper);
  return sleeper as ChildProcess & { pid: number };
}

/** A script of one process, told to the guard. */
function guarded(trust: TestTrust | undefined) {
  const cookie = randomUUID();
  const script = guard.watch(cookie, trust);
  const sleeper = sleeperWith(cookie);
  script.started(readProcess(sleeper.pid)!);
  endAll.push(() => script.ended());
  return { script, sleeper };
}

const isAlive = (sleeper: ChildProcess) => sleeper.exitCode === null && sleeper.signalCode === null;

async function killed(sleeper: ChildProcess): Promise<void> {
  if (isAlive(sleeper)) await once(sleeper, 'exit');
  expect(sleeper.signalCode).toBe('SIGKILL');
}

/** Resolves when the guard has done all that it was told before. */
async function caughtUp(): Promise<void> {
  await killed(guarded(new TestTrust(0)).sleeper);
}

describe('a guard', () => {
  test('kills a script when the trust ends without another beat, and not before', async () => {
    const trust = new TestTrust();
    const { sleeper } = guarded(trust);
    await caughtUp();
    expect(isAlive(sleeper)).toBe(true);
    trust.renew(50);
    await killed(sleeper);
  });

  test('kills the scripts of one worker, and not those of another in the same process', async () => {
    const { sleeper } = guarded(new TestTrust());
    await caughtUp();
    expect(isAlive(sleeper)).toBe(true);
  });

  test('does not kill a process that has the number of a script which is gone', async () => {
    const trust = new TestTrust();
    const bystander = sleeperWith();
    const script = guard.watch(randomUUID(), trust);
    endAll.push(() => script.ended());
    const { pid, startedAt } = readProcess(bystander.pid)!;
    script.started({ pid, startedAt: String(Number(startedAt) - 1) });
    const { sleeper } = guarded(trust);
    trust.renew(0);
    // Judged after the first.
    await killed(sleeper);
    await caughtUp();
    expect(isAlive(bystander)).toBe(true);
  });

  test('does not touch what had ended when the trust does', async () => {
    const trust = new TestTrust();
    const { script, sleeper } = guarded(trust);
    script.ended();
    const other = guarded(trust);
    trust.renew(0);
    await killed(other.sleeper);
    await caughtUp();
    expect(isAlive(sleeper)).toBe(true);
  });

  test('kills a script of which it was told only that it is about to start', async () => {
    const cookie = randomUUID();
    const trust = new TestTrust();
    const script = guard.watch(cookie, trust);
    endAll.push(() => script.ended());
    const sleeper = sleeperWith(cookie);
    await once(sleeper, 'spawn');
    trust.renew(0);
    await killed(sleeper);
  });

  test('kills a script that a worker which stood still starts after its trust has ended', async () => {
    const cookie = randomUUID();
    const trust = new TestTrust(0);
    const script = guard.watch(cookie, trust);
    endAll.push(() => script.ended());
    await caughtUp();
    const sleeper = sleeperWith(cookie);
    script.started(readProcess(sleeper.pid)!);
    // Trusted again, under another id: that is not for what ran before.
    trust.renew(3_600_000);
    await killed(sleeper);
  });

  test('that was killed is replaced, and the next one knows all scripts', async () => {
    const trust = new TestTrust();
    const { sleeper } = guarded(trust);
    await caughtUp();
    const first = guard.pid!;
    process.kill(first, 'SIGKILL');
    await eventually(() => guard.pid !== undefined && guard.pid !== first);
    const later = guarded(trust);
    await caughtUp();
    expect([isAlive(sleeper), isAlive(later.sleeper)]).toEqual([true, true]);
    trust.renew(0);
    await killed(sleeper);
    await killed(later.sleeper);
  });

  test('that stood still itself reads of later beats before it kills', async () => {
    const trust = new TestTrust();
    const { sleeper } = guarded(trust);
    await caughtUp();
    trust.renew(5_000);
    await caughtUp();
    process.kill(guard.pid!, 'SIGSTOP');
    await eventually(() => trust.leftMs() < 0);
    trust.renew(3_600_000);
    process.kill(guard.pid!, 'SIGCONT');
    await caughtUp();
    expect(isAlive(sleeper)).toBe(true);
  });

  test('is not reached by what a terminal sends to the worker, and goes on when a service manager tells all to end', async () => {
    await caughtUp();
    const pid = guard.pid!;
    expect(sessionOf(pid)).toBe(pid);
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(pid, signal);
    await caughtUp();
    expect(guard.pid).toBe(pid);
  });
});

test('hazard 7: after the machine was suspended it kills what its worker does not renew the trust of', async () => {
  const cookie = randomUUID();
  const sleeper = sleeperWith(cookie);
  const { pid, startedAt } = readProcess(sleeper.pid)!;
  const told = { is: 'trust', trust: 1, untilMs: machineMs() + 3_600_000 };
  const [before, now] = [machineAheadMs() - 3_600_000, machineAheadMs()];
  const lines = (aheadMs: number) =>
    [
      { ...told, aheadMs },
      { is: 'starting', run: 2, cookie, trust: 1 },
      { is: 'started', run: 2, pid, startedAt },
    ].map((line) => `${JSON.stringify(line)}\n`);
  const guarding = new Guard({ doubtMs: 0 });
  endAll.push(() => guarding.read('{"is":"ended","run":2}\n{"is":"untrusted","trust":1}\n'));
  guarding.read(lines(now).join(''));
  await caughtUp();
  expect(isAlive(sleeper)).toBe(true);
  guarding.read(lines(before)[0]!);
  await killed(sleeper);
});

/** Starts a script as a worker does. Arguments: two modules, cookie and its variable, and whether the guard is told of the process. */
const WORKER = `
const { ScriptGuard } = await import(process.argv[1]);
const { readProcess } = await import(process.argv[2]);
const { spawn } = await import('node:child_process');
const guard = new ScriptGuard();
const script = guard.watch(process.argv[3], undefined);
const sleeper = spawn('sleep', ['7000'], { detached: true, stdio: 'ignore', env: { PATH: process.env.PATH, [process.argv[4]]: process.argv[3] } });
if (process.argv[5] === 'root') script.started(readProcess(sleeper.pid));
console.log(JSON.stringify({ sleeper: sleeper.pid, guard: guard.pid }));
`;

describe('when the worker has died', () => {
  test.each([
    ['SIGKILL', 'root'],
    ['SIGTERM', 'root'],
    // As what has left its session and its parents.
    ['SIGKILL', 'cookie'],
  ] as const)('by %s, its scripts end, found by their %s, and then its guard', async (signal, by) => {
    const urls = ['script-guard.ts', 'process-table.ts'].map((name) => new URL(name, import.meta.url).href);
    const worker = spawn(
      process.execPath,
      ['--input-type=module', '-e', WORKER, ...urls, randomUUID(), COOKIE_VARIABLE, by],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const [line] = (await once(worker.stdout!, 'data')) as [Buffer];
    const pids = JSON.parse(line.toString()) as { sleeper: number; guard: number };
    expect(isRunning(pids.sleeper)).toBe(true);
    worker.kill(signal);
    await eventually(() => !isRunning(pids.sleeper));
    await eventually(() => !isRunning(pids.guard));
  });
});

test('the guard remembers nothing of scripts that have ended, nor of the trust they rested on', () => {
  const told: string[] = [];
  const worker = new ScriptGuard({ told: (line) => told.push(line) });
  for (let i = 0; i < 50; i += 1) {
    const trust = new TestTrust();
    const [first, second] = [worker.watch(`one-${i}`, trust), worker.watch(`two-${i}`, trust)];
    first.started({ pid: 999_999_999, startedAt: '1' });
    first.ended();
    second.ended();
  }
  const remembered = new Guard();
  const half = told.length / 2;
  remembered.read(told.slice(0, half).join(''));
  remembered.read(told.slice(half).join(''));
  expect(told.length).toBeGreaterThan(250);
  expect(remembered.counts()).toEqual({ runs: 0, trusts: 0 });
  if (worker.pid !== undefined) process.kill(worker.pid, 'SIGKILL');
});

function isRunning(pid: number): boolean {
  const found = readProcess(pid);
  return found !== undefined && !found.isZombie;
}

function sessionOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[3]);
}
