/** The stubs of the examples are what the published proto file says, and what Go calls clean. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { makeTestFolder } from '../../support/test-folder.ts';
import { findPython, programOf } from '../python-environment.ts';
import { findGo } from './find-workers.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../..');
const EXAMPLES = join(ROOT, 'examples');
const python = await findPython();
const go = await findGo().catch((error: Error) => error);
const isRequired = process.env.CI === 'true';

const read = (folder: string, name: string) => readFileSync(join(folder, 'carillon/worker/v1', name), 'utf8');

test.skipIf(python.kind === 'missing' && !isRequired)(
  'those in Python: otherwise run examples/python-worker/generate.sh',
  async () => {
    const folder = makeTestFolder();
    const env = { ...process.env, PYTHON: programOf(python) };
    await run(join(EXAMPLES, 'python-worker/generate.sh'), [folder], { env });
    for (const name of ['workers_pb2.py', 'workers_pb2_grpc.py'])
      expect(read(join(EXAMPLES, 'python-worker'), name)).toBe(read(folder, name));
  },
);

test.skipIf(go instanceof Error && !isRequired)(
  'those in Go: otherwise run `buf generate` in examples/go-worker',
  async () => {
    if (go instanceof Error) throw go;
    const folder = makeTestFolder();
    const cwd = join(EXAMPLES, 'go-worker');
    const PATH = [dirname(go), dirname(process.execPath), process.env.PATH].join(delimiter);
    const env = { ...process.env, PATH };
    await run(join(ROOT, 'node_modules/.bin/buf'), ['generate', '--output', folder], { cwd, env });
    for (const name of ['workers.pb.go', 'workers_grpc.pb.go'])
      expect(read(cwd, name)).toBe(read(folder, name));
    const { stdout } = await run(go, ['vet', './...'], { cwd, env });
    expect(stdout).toBe('');
  },
);
