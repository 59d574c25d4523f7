/** A folder for one test: removed when the test passed, kept and named when it failed, for its logs tell why. */
import { mkdtempSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const LINES_SHOWN = 30;

export function makeTestFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), `carillon-fault-${process.pid}-`));
  onTestFinished(async ({ task }) => {
    if (task.result?.state !== 'fail') return rm(folder, { recursive: true, force: true });
    console.error(`the folder of the failed test is kept: ${folder}\n${await lastWords(folder)}`);
  });
  return folder;
}

async function lastWords(folder: string): Promise<string> {
  const words: string[] = [];
  for (const name of (await readdir(folder)).filter((file) => file.endsWith('.log'))) {
    const lines = (await readFile(join(folder, name), 'utf8')).trimEnd().split('\n').slice(-LINES_SHOWN);
    words.push(...lines.map((line) => `  ${name}| ${line.slice(0, 400)}`));
  }
  return words.join('\n');
}
