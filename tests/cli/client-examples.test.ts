/** The examples of docs/client.md, docs/workers.md and of the pages that the packages are published with, as the compiler sees them. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { Carillon } from '../../packages/client/src/index.ts';

const ROOT = join(import.meta.dirname, '../..');
const page = await readFile(join(ROOT, 'docs/client.md'), 'utf8');
const workers = await readFile(join(ROOT, 'docs/workers.md'), 'utf8');
const readmes = await Promise.all(
  ['client', 'worker', 'server'].map((name) => readFile(join(ROOT, 'packages', name, 'README.md'), 'utf8')),
);

test('every example compiles', async () => {
  const examples = [page, workers, ...readmes].flatMap((text) =>
    [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code),
  );
  expect(examples.length).toBeGreaterThan(7);
  const folder = await mkdtemp(join(tmpdir(), 'carillon-examples-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await Promise.all(examples.map((code, i) => writeFile(join(folder, `example-${i + 1}.mts`), code)));
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      paths: {
        '@carillon/server/testing': [join(ROOT, 'packages/server/src/testing/index.ts')],
        '@carillon/*': [join(ROOT, 'packages/*/src/index.ts')],
      },
      typeRoots: [join(ROOT, 'node_modules/@types')],
    },
    include: ['*.mts'],
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const compiled = promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]);
  const complaints = await compiled.then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  );
  expect(complaints).toBe('');
});

test('the table of methods is that of the client', () => {
  const carillon = new Carillon({ url: 'http://127.0.0.1:1' });
  const rows = [...page.matchAll(/^\| `(\w+)` \| ((?:`\w+` ?)+)\|$/gm)];
  const told = new Map(rows.map(([, name = '', methods = '']) => [name, methods.match(/\w+/g)]));
  for (const [name, group] of Object.entries(carillon)) {
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(group)).filter(
      (one) => one !== 'constructor',
    );
    expect(told.get(name)?.toSorted(), name).toEqual(methods.toSorted());
  }
});
