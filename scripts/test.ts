/**
 * What `npm test`, `npm run test:long` and `npm run check` run: format, lint and types, and the projects of tests; `check` only those
 * that wait for nothing real. As many stages run side by side as there are cores and one more, for most of them wait for processes much of
 * their time. One line per stage with the time it took, the output only of what failed, and at the end the sum over all tests. Any
 * failure fails the run; where CI=true, so does any skipped test.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { stopWithParent } from '../packages/server/src/parent-watch.ts';
import { makeScratchFolder } from './test/make-scratch-folder.ts';

type Stage = { readonly name: string; readonly command: readonly string[]; readonly counts: boolean };
type Tally = { readonly passed: number; readonly failed: number; readonly skipped: readonly string[] };
type Report = {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
};

const ROOT = join(import.meta.dirname, '..');
const bin = (name: string): string => join(ROOT, 'node_modules', '.bin', name);
const CHECKS: readonly Stage[] = [
  { name: 'format and lint', command: [bin('biome'), 'check', '.'], counts: false },
  { name: 'types', command: [bin('tsc'), '--noEmit'], counts: false },
  {
    name: 'types of the page',
    command: [bin('tsc'), '--noEmit', '--project', 'packages/dashboard'],
    counts: false,
  },
  { name: 'exports that nothing uses', command: [bin('knip'), '--no-progress'], counts: false },
];
const PLAIN_NOTICE_MS = 20_000;
const CLEARED_LINE = '\r\x1b[K';
/** The longest first: what is left at the end is short, and no core waits for one long stage. */
const ALL = [
  ...['db', 'cli', 'faults', 'rpc', 'browser', 'processes', 'simulation', 'unit', 'fuzz', 'architecture'],
];
const MODES: Record<string, readonly string[]> = {
  check: ['unit', 'architecture'],
  test: ALL,
  'test:long': ALL,
};
const STAGES_AT_ONCE = availableParallelism() + 1;

const [mode = 'test', ...filters] = process.argv.slice(2);
const projects = MODES[mode];
if (projects === undefined) throw new Error(`unknown mode ${mode}: one of ${Object.keys(MODES).join(', ')}`);
// Suites with a size to choose (seeds, minutes of faults) read it from here.
if (mode === 'test:long') process.env.CARILLON_TEST_LONG = 'true';

/** What runs now, by name, with its time so far. */
const running = new Map<string, () => string>();
const children = new Set<ReturnType<typeof spawn>>();
let interrupted = false;
const interrupt = (): void => {
  interrupted = true;
  for (const child of children) child.kill('SIGTERM');
};
process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
stopWithParent(interrupt);

process.exitCode = await main();

async function main(): Promise<number> {
  const scratch = await makeScratchFolder();
  // Only for databases: scripts see a /dev/shm of their own, and could not find their folders there.
  if (scratch) process.env.CARILLON_TEST_DATABASES = scratch.path;
  const reports = await mkdtemp(join(tmpdir(), 'carillon-test-reports-'));
  const failures: string[] = [];
  const total = { passed: 0, failed: 0, skipped: [] as string[] };
  // Told which files to run, one wants to see those and nothing else.
  const checks = filters.length === 0 ? CHECKS : [];
  const waiting = [...checks, ...(projects ?? []).map((name) => testsOf(name, reports))];
  const runNext = async (): Promise<void> => {
    for (let stage = waiting.shift(); stage; stage = waiting.shift()) {
      const { ok, tally } = await runStage(stage, reports);
      if (interrupted) return;
      if (!ok) failures.push(stage.name);
      total.passed += tally.passed;
      total.failed += tally.failed;
      total.skipped.push(...tally.skipped);
    }
  };
  const stopNotices = announce();
  try {
    await Promise.all(Array.from({ length: STAGES_AT_ONCE }, runNext));
    if (interrupted) return 130;
  } finally {
    stopNotices();
    await rm(reports, { recursive: true, force: true });
    await scratch?.remove();
  }
  for (const name of total.skipped) console.log(`skipped: ${name}`);
  if (process.env.CI === 'true' && total.skipped.length > 0)
    failures.push('skipped tests (not allowed where CI=true)');
  if (failures.length > 0) console.log(`failed: ${failures.join(', ')}`);
  const skipped = total.skipped.length > 0 ? `, ${total.skipped.length} skipped` : '';
  console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
  return failures.length > 0 ? 1 : 0;
}

function testsOf(name: string, reports: string): Stage {
  return {
    name,
    command: [
      bin('vitest'),
      'run',
      ...['--project', name, '--reporter', 'default', '--reporter', 'json'],
      ...['--outputFile.json', join(reports, `${name}.json`)],
      ...filters,
    ],
    counts: true,
  };
}

async function runStage(stage: Stage, reports: string): Promise<{ ok: boolean; tally: Tally }> {
  const startedAt = performance.now();
  const seconds = (): string => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  running.set(stage.name, seconds);
  const { code, output } = await run(stage.command);
  running.delete(stage.name);
  if (process.stdout.isTTY) process.stdout.write(CLEARED_LINE);

  const tally = stage.counts ? await readTally(join(reports, `${stage.name}.json`)) : undefined;
  // A run that ended without its report did not finish, whatever its exit code says.
  const ok = code === 0 && (!stage.counts || tally !== undefined);
  if (!ok && !interrupted) console.log(output.trimEnd());
  const count = tally ? `${tally.passed} passed${tally.failed > 0 ? `, ${tally.failed} failed` : ''}` : '';
  console.log(`${ok ? '✓' : '✗'} ${stage.name.padEnd(16)} ${seconds().padStart(8)}  ${count}`.trimEnd());
  return { ok, tally: tally ?? { passed: 0, failed: ok ? 0 : 1, skipped: [] } };
}

/** All that runs, in one line: on a terminal always the same one. The answered function ends it. */
function announce(): () => void {
  const onTerminal = process.stdout.isTTY === true;
  const show = (): void => {
    if (running.size === 0) return;
    const all = Array.from(running, ([name, time]) => `${name} ${time()}`).join(', ');
    process.stdout.write(onTerminal ? `${CLEARED_LINE}… ${all}` : `… ${all}\n`);
  };
  const timer = setInterval(show, onTerminal ? 200 : PLAIN_NOTICE_MS);
  return () => clearInterval(timer);
}

function run([program = '', ...args]: readonly string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    children.add(child);
    let output = '';
    const keep = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', reject);
    child.on('close', (code) => {
      children.delete(child);
      resolve({ code: code ?? 1, output });
    });
  });
}

async function readTally(path: string): Promise<Tally | undefined> {
  let report: Report;
  try {
    report = JSON.parse(await readFile(path, 'utf8')) as Report;
  } catch {
    return undefined;
  }
  // A file that could not even be loaded has no tests to count, but is a failure all the same.
  const broken = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  const skipped = report.testResults.flatMap(({ assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'skipped' || status === 'pending' || status === 'todo')
      .map(({ fullName }) => fullName),
  );
  return { passed: report.numPassedTests, failed: report.numFailedTests + broken.length, skipped };
}
