/**
 * Sources as the JavaScript that runs below node_modules, where Node strips no types. Tests and their scenery stay behind;
 * types are not checked here, because `npm run check` does that.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './manifests.ts';

const NOT_PART_OF_THE_PRODUCT = [
  '**/*.test.ts',
  '**/*.fixture.ts',
  '**/*.conformance.ts',
  '**/conformance.ts',
  '**/conformance',
];

export interface CompileOptions {
  /** Names of our packages. */
  readonly packages: readonly string[];
  /** Gets one folder for each package. */
  readonly into: string;
  readonly declarations: boolean;
}

export async function compile({ packages, into, declarations }: CompileOptions): Promise<void> {
  const config = join(into, 'tsconfig.json');
  const sources = packages.map((name) => join(ROOT, 'packages', name, 'src'));
  await mkdir(into, { recursive: true });
  await writeFile(
    config,
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        noCheck: !declarations,
        rewriteRelativeImportExtensions: true,
        declaration: declarations,
        rootDir: join(ROOT, 'packages'),
        outDir: into,
        typeRoots: [join(ROOT, 'node_modules/@types')],
      },
      include: sources,
      exclude: sources.flatMap((folder) => NOT_PART_OF_THE_PRODUCT.map((pattern) => join(folder, pattern))),
    }),
  );
  await promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), ['-p', config], { cwd: ROOT });
  await rm(config);
  for (const folder of sources) await copyOthers(folder, into);
  for (const path of await filesIn(into)) if (/\.(js|d\.ts)$/.test(path)) await rewriteImports(path, into);
}

/** What is read at run time beside the code, such as migrations. */
async function copyOthers(folder: string, into: string): Promise<void> {
  for (const path of await filesIn(folder)) {
    if (/\.(tsx?|md)$/.test(path)) continue;
    const target = join(into, relative(join(ROOT, 'packages'), path));
    await mkdir(dirname(target), { recursive: true });
    await copyFile(path, target);
  }
}

/** Our own packages lie beside each other here: they are found by their place, and not among what npm installed. */
async function rewriteImports(path: string, into: string): Promise<void> {
  const text = await readFile(path, 'utf8');
  const rewritten = text
    .replaceAll(/(\bfrom\s*|\bimport\s*\(?\s*)(['"])@carillon\/(\w+)\2/g, (_, before, quote, name) => {
      const place = relative(dirname(path), join(into, name, 'src/index.js')).replaceAll('\\', '/');
      return `${before}${quote}${place.startsWith('.') ? place : `./${place}`}${quote}`;
    })
    .replaceAll(/(\bfrom\s*|\bimport\s*\(\s*)(['"])(\.{1,2}\/[^'"]+)\.ts\2/g, '$1$2$3.js$2');
  if (rewritten !== text) await writeFile(path, rewritten);
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
