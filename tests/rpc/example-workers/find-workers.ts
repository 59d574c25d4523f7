/**
 * The example workers, ready to be started: packages of Python installed, the worker in Go built, both once. Where one cannot be had it
 * says why, so that its tests can be left out by name.
 */
import { execFile } from 'node:child_process';
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { findPython } from '../python-environment.ts';
import type { WorkerProgram } from './worker-process.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../..');
const EXAMPLES = join(ROOT, 'examples');
const CACHE = join(ROOT, 'node_modules/.cache');
const BUILD_MS_MAX = 540_000;
/** Where Go is installed when it is not in the PATH. */
const GO_FOLDER = '/usr/local/go/bin';

export type FoundWorker =
  | { readonly language: string; readonly program: WorkerProgram }
  | { readonly language: string; readonly why: string };

/** Nothing is to be installed for it. */
const TYPESCRIPT_WORKER: FoundWorker = {
  language: 'typescript',
  program: [
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    join(import.meta.dirname, 'typescript-worker.ts'),
  ],
};

export async function findWorkers(): Promise<FoundWorker[]> {
  return [TYPESCRIPT_WORKER, await findPythonWorker(), await findGoWorker()];
}

/** With the handlers of chaos/visit.ts, which the one in TypeScript has with VISITOR in its environment. */
export async function findVisitingWorkers(): Promise<FoundWorker[]> {
  const folder = join(import.meta.dirname, 'chaos');
  return [
    TYPESCRIPT_WORKER,
    await findPythonWorker(join(folder, 'visiting_worker.py')),
    await findGoWorker({ name: 'carillon-go-visiting-worker', added: join(folder, 'visit.go') }),
  ];
}

async function findPythonWorker(main = join(EXAMPLES, 'python-worker/main.py')): Promise<FoundWorker> {
  const requirements = join(EXAMPLES, 'python-worker/requirements.txt');
  const python = await findPython({ requirements, imports: 'grpc, google.protobuf' });
  const language = 'python';
  if (python.kind === 'missing') return { language, why: python.why };
  return { language, program: [python.program, main] };
}

/** `added`: a file that is built as if it lay beside those of the example. */
async function findGoWorker({ name = 'carillon-go-worker', added = '' } = {}): Promise<FoundWorker> {
  const language = 'go';
  const program = join(CACHE, name);
  try {
    await mkdir(CACHE, { recursive: true });
    // Beside its place and moved there: another test may be running the one that is there.
    const built = `${program}-${process.pid}`;
    const options = { cwd: join(EXAMPLES, 'go-worker'), timeout: BUILD_MS_MAX };
    const overlay = `${built}.json`;
    const files = added ? { [join(EXAMPLES, 'go-worker', basename(added))]: added } : {};
    await writeFile(overlay, JSON.stringify({ Replace: files }));
    await run(await findGo(), ['build', '-overlay', overlay, '-o', built, '.'], options).finally(() =>
      rm(overlay),
    );
    await rename(built, program);
    return { language, program: [program] };
  } catch (error) {
    const [line = 'it cannot be used'] = String((error as Error).message).split('\n');
    return { language, why: line.slice(0, 200) };
  }
}

export async function findGo(): Promise<string> {
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), GO_FOLDER]) {
    const program = join(folder, 'go');
    const isThere = await access(program).then(
      () => true,
      () => false,
    );
    if (isThere) return program;
  }
  throw new Error('go is neither in the PATH nor in /usr/local/go/bin');
}

/** Where nothing may be left out, the reason is told instead. */
export function isLeftOut(worker: FoundWorker): boolean {
  return 'why' in worker && process.env.CI !== 'true';
}

export function nameOf(worker: FoundWorker): string {
  return 'why' in worker
    ? `the worker in ${worker.language} (${worker.why})`
    : `the worker in ${worker.language}`;
}

export function programOf(worker: FoundWorker): WorkerProgram {
  if ('why' in worker) throw new Error(`The worker in ${worker.language} cannot be used here: ${worker.why}`);
  return worker.program;
}
