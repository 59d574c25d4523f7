// Builds the page into `dist` when its sources have changed since the last build, with each file compressed beside it, so that a
// server compresses nothing. Plain JavaScript: the bootstrap runs it before the server starts.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const FOLDER = dirname(fileURLToPath(import.meta.url));
const FINGERPRINT = 'built-from.txt';
// What the page is made of; node_modules is named by the lockfile.
const SOURCES = ['src', 'public', 'index.html', 'vite.config.ts', 'package.json', 'build.mjs'];
const BESIDE = ['../client/src', '../domain/src', '../../package-lock.json'];
const COMPRESSED = new Set(['.html', '.js', '.css', '.svg', '.json']);

export const dashboardFolder = join(FOLDER, 'dist');

export function isDashboardBuilt() {
  try {
    return readFileSync(join(dashboardFolder, FINGERPRINT), 'utf8') === fingerprint();
  } catch {
    return false;
  }
}

export async function buildDashboard() {
  if (isDashboardBuilt()) return;
  const built = fingerprint();
  const fresh = join(FOLDER, `dist.${process.pid}`);
  // Whoever asks for it: in a test, Vite would take the slow React that is meant for development.
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = 'production';
  try {
    const { build } = await import('vite');
    await build({
      configFile: join(FOLDER, 'vite.config.ts'),
      logLevel: 'error',
      build: { outDir: fresh, emptyOutDir: true },
    });
    for (const path of filesBelow(fresh)) if (COMPRESSED.has(extname(path))) compress(path);
    writeFileSync(join(fresh, FINGERPRINT), built);
    rmSync(dashboardFolder, { recursive: true, force: true });
    renameSync(fresh, dashboardFolder);
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
    rmSync(fresh, { recursive: true, force: true });
  }
}

function compress(path) {
  const bytes = readFileSync(path);
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  writeFileSync(
    `${path}.br`,
    brotliCompressSync(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }),
  );
}

function fingerprint() {
  const hash = createHash('sha256');
  for (const source of [...SOURCES, ...BESIDE])
    for (const path of filesBelow(join(FOLDER, source)))
      hash.update(path.slice(FOLDER.length)).update('\0').update(readFileSync(path)).update('\0');
  return hash.digest('hex');
}

function filesBelow(path) {
  let entries;
  try {
    entries = readdirSync(path, { withFileTypes: true });
  } catch (error) {
    if (error.code === 'ENOTDIR') return [path];
    throw error;
  }
  return entries
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .filter(({ name }) => !name.endsWith('.test.ts'))
    .flatMap((entry) =>
      entry.isDirectory() ? filesBelow(join(path, entry.name)) : [join(path, entry.name)],
    );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildDashboard();
