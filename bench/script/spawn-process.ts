/** What a script costs at the least: the interpreter on a file, with pipes for its output, and nothing around it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_PATH } from '../../packages/worker/src/handlers/script/interpreter.ts';
import { answerParent } from '../ask-process.ts';

export type SpawnOrder = {
  readonly interpreter: string;
  readonly script: string;
  readonly runs: number;
  readonly warmUpRuns: number;
  readonly atOnce: number;
};

export type SpawnFigures = { readonly ok: true; readonly seconds: number };

answerParent<SpawnOrder, SpawnFigures>(async ({ interpreter, script, runs, warmUpRuns, atOnce }) => {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-bench-script-'));
  const file = join(folder, 'script');
  writeFileSync(file, script);
  const runOne = async () => {
    const child = spawn(interpreter, [file], {
      ...{ cwd: folder, env: { PATH: DEFAULT_PATH } },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.resume();
    child.stderr.resume();
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`the bare script ended with ${code}`);
  };
  const runAll = async (count: number) => {
    let left = count;
    const lane = async () => {
      while (left > 0) {
        left -= 1;
        await runOne();
      }
    };
    await Promise.all(Array.from({ length: atOnce }, lane));
  };
  try {
    await runAll(warmUpRuns);
    const startedAt = performance.now();
    await runAll(runs);
    return { ok: true, seconds: (performance.now() - startedAt) / 1_000 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
