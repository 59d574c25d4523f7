/** Root sends no signal for the owner of a folder that they could not send themselves. */
import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { ANOTHER_USER, testAsRoot } from '../../../../../tests/support/folder-of-another-user.ts';
import { makeTestFolder } from '../../../../../tests/support/test-folder.ts';
import { OpenFolder } from '../../open-folder.ts';
import { endLeftover } from './prepare-data-directory.ts';
import { signalAs } from './signal-as.ts';
import type { UnprivilegedUser } from './unprivileged-user.ts';

const user: UnprivilegedUser = {
  kind: 'system_user',
  name: 'another user',
  prefix: [],
  owner: ANOTHER_USER,
  spawnAs: ANOTHER_USER,
};

let children: ChildProcess[];

beforeEach(() => {
  children = [];
});

afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Ends by itself only when its input is closed. */
function launch(as: { uid?: number; gid?: number }, ...names: string[]) {
  const child = spawn('/bin/sh', ['-c', 'read -r line; exit 7', ...names], {
    ...as,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  children.push(child);
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  );
  return { pid: child.pid!, ended, end: () => child.stdin?.end() };
}

testAsRoot('a process of the user is ended, and one of root is not', async () => {
  const theirs = launch(ANOTHER_USER);
  expect(await signalAs(user, theirs.pid, 'SIGKILL')).toBe(true);
  expect(await theirs.ended).toEqual({ code: null, signal: 'SIGKILL' });
  expect(await signalAs(user, theirs.pid, 'SIGKILL')).toBe(false);

  const ours = launch({});
  expect(await signalAs(user, ours.pid, 'SIGKILL')).toBe(false);
  ours.end();
  expect(await ours.ended).toEqual({ code: 7, signal: null });
});

testAsRoot('a postmaster.pid that names a process of root does not end it', async () => {
  const path = join(makeTestFolder(), 'cluster');
  await mkdir(path);
  chownSync(path, ANOTHER_USER.uid, ANOTHER_USER.gid);
  const ours = launch({}, `postgres -D ${path} `);
  await writeFile(join(path, 'postmaster.pid'), `${ours.pid}\n`);
  await using cluster = await OpenFolder.open(path);
  await expect(endLeftover(cluster, { user, onFound: () => {} })).rejects.toThrow(`process ${ours.pid}`);
  ours.end();
  expect(await ours.ended).toEqual({ code: 7, signal: null });
});
