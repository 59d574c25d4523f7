/** The completion scripts in the hands of the shells they are for. */
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeTestFolder } from '../support/test-folder.ts';
import { runCarillon } from './run-carillon.ts';
import { runOnTerminal, whyNoTerminal } from './terminal/run-on-terminal.ts';

async function scriptOf(shell: string, cwd: string): Promise<string> {
  const { code, stdout, stderr } = await runCarillon(['completion', shell], { cwd });
  expect(code, stderr).toBe(0);
  const file = join(cwd, `carillon.${shell}`);
  await writeFile(file, stdout);
  return file;
}

/** bash is everywhere this runs; the others are asked where somebody has installed them. */
const shells = ['bash', 'zsh', 'fish'].filter(
  (shell) => shell === 'bash' || spawnSync(shell, ['-c', 'true']).status === 0,
);

test.each(shells)('%s finds nothing wrong with its script', async (shell) => {
  const file = await scriptOf(shell, makeTestFolder());
  const { status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

const isLeftOut = whyNoTerminal !== undefined && process.env.CI !== 'true';
const name = 'the Tab key completes a command in bash';
test.skipIf(isLeftOut)(isLeftOut ? `${name} (${whyNoTerminal})` : name, async () => {
  const cwd = makeTestFolder();
  const file = await scriptOf('bash', cwd);
  const { written, unseen } = await runOnTerminal(['--noprofile', '--norc', '-i'], {
    cwd,
    program: ['/bin/bash'],
    steps: [
      { see: '$ ', type: `source ${file}; carillon() { echo "got: $*"; }\r` },
      { see: '\n', type: 'carillon jobs cre\t --prio\tlo\t\r' },
      { see: 'got: jobs create --priority low', type: 'exit\r' },
    ],
  });
  expect(unseen, written).toEqual([]);
});
