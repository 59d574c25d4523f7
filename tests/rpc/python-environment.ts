/**
 * Python with the packages that a test names (left out: the stock ones of gRPC), in a folder of its own that is made once and kept, and
 * stubs made from the published proto files. Where it cannot be had it says why, so that tests can be left out by name.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const PROTO = join(ROOT, 'packages/contract/proto');
const GRPC: Packages = {
  requirements: join(import.meta.dirname, 'python/requirements.txt'),
  imports: 'grpc, grpc_tools, grpc_health, grpc_reflection, grpc_status',
};
const CACHE = join(ROOT, 'node_modules/.cache');
const INSTALL_MS_MAX = 540_000;

export type Python =
  | { readonly kind: 'ready'; readonly program: string }
  | { readonly kind: 'missing'; readonly why: string };

export interface Packages {
  /** A file for pip, every package with its version. */
  readonly requirements: string;
  /** What must be importable afterwards. */
  readonly imports: string;
}

export async function findPython({ requirements, imports }: Packages = GRPC): Promise<Python> {
  const key = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12);
  const folder = join(CACHE, `carillon-python-${key}`);
  const program = join(folder, 'bin/python');
  try {
    await access(program).catch(() => install(folder, requirements));
    await run(program, ['-c', `import ${imports}`]);
    return { kind: 'ready', program };
  } catch (error) {
    const [line = 'it cannot be used'] = String((error as Error).message).split('\n');
    return { kind: 'missing', why: line.slice(0, 200) };
  }
}

export function programOf(python: Python): string {
  if (python.kind === 'ready') return python.program;
  throw new Error(`Python cannot be used here: ${python.why}`);
}

/** Made beside its place and moved there whole: a run that is interrupted, or a second one, leaves nothing half made. */
async function install(folder: string, requirements: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const half = await mkdtemp(`${folder}-`);
  try {
    await run('python3', ['-m', 'venv', half]);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
    await run(join(half, 'bin/python'), pip, { timeout: INSTALL_MS_MAX });
    await rename(half, folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(half, { recursive: true, force: true });
  }
}

/** Answers the folder that holds them, for PYTHONPATH. */
export async function makeStubs(program: string, folder: string): Promise<string> {
  const names = ['accounts', 'audit', 'error_detail', 'jobs', 'resources'];
  const files = names.map((name) => `carillon/v1/${name}.proto`);
  const outputs = [`--python_out=${folder}`, `--grpc_python_out=${folder}`];
  await run(program, ['-m', 'grpc_tools.protoc', `--proto_path=${PROTO}`, ...outputs, ...files]);
  return folder;
}
