/** What handlers say of the worker that offers them, beside the labels that it was given. */
import { mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Caller, SERVER, WORKER_SCOPES } from '@carillon/domain';
import { scriptLabels } from '@carillon/worker';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../../tests/support/eventually.ts';
import { WorkerHomeFixture } from './worker-home.fixture.ts';

const SOON = { withinMs: 60_000 };
const LABELS = { 'script.interpreters': 'bash,sh', 'script.roots': '/srv', other: 'shown' };

let home: WorkerHomeFixture;
beforeEach(async () => {
  home = await WorkerHomeFixture.open();
});
afterEach(() => home.close());

async function labelsOf(caller: Caller): Promise<object> {
  const { address } = await home.listen({ caller });
  await home.startRemote([address], (worker) =>
    worker.handle('script', { run: () => null, labels: LABELS }).handle('plain', () => null),
  );
  const workerId = await eventually(() => home.workerId(), SOON);
  return (await home.storage.members.findWorker(workerId, home.clock.now()))!.labels;
}

test('a worker is shown with the labels of its handlers', async () => {
  expect(await labelsOf(SERVER)).toEqual(LABELS);
});

test('a worker of some namespaces says nothing by which jobs of others would be refused', async () => {
  const grants = [{ namespace: 'media', role: 'admin', ownOnly: false }] as const;
  expect(await labelsOf({ ...SERVER, grants, scopes: WORKER_SCOPES })).toEqual({ other: 'shown' });
});

test('the labels of scripts name what is installed, and folders by their own names and by those that links lead to', async () => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'carillon-roots-'));
  const link = `${folder}-link`;
  symlinkSync(folder, link);
  try {
    const given = { path: '/usr/bin:/bin', interpreters: ['sh', 'no-such-program', 'x=/no/such/program'] };
    expect(await scriptLabels({ ...given, roots: [] })).toEqual({ 'script.interpreters': 'sh' });
    expect(await scriptLabels({ ...given, roots: [link] })).toEqual({
      'script.interpreters': 'sh',
      'script.roots': `${link}:${folder}`,
    });
    // It could not be told apart, or is longer than a label.
    expect(await scriptLabels({ ...given, roots: ['/with:colon'] })).toEqual({});
    expect(await scriptLabels({ ...given, roots: [`/${'x'.repeat(200)}`] })).toEqual({});
  } finally {
    rmSync(link);
    rmSync(folder, { recursive: true });
  }
});
