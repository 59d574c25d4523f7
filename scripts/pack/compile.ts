/**
 * Sources as the JavaScript that runs below node_modules, where Node strips no types, with their declarations. Only what the
 * entry points reach is compiled, so tests and their scenery stay behind.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './manifests.ts';

export interface CompileOptions {
  /** Of each of our packages by its name: the files that others import or run, from its folder. */
  readonly entries: Readonly<Record<string, readonly string[]>>;
  /** The file that each of our import names stands for, from the root. */
  readonly names: Readonly<Record<string, string>>;
  /** Gets one folder for each package. */
  readonly into: string;
}

export async function compile({ entries, names, into }: CompileOptions): Promise<void> {
  const config = join(into, 'tsconfig.json');
  await mkdir(into, { recursive: true });
  await writeFile(
    config,
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        rewriteRelativeImportExtensions: true,
        declaration: true,
        rootDir: join(ROOT, 'packages'),
        outDir: into,
        // Named here, they are not looked for in node_modules: what is found there counts as the work of others, and whether the
        // compiler writes a file that is reached both ways depends on which way it went first.
        paths: Object.fromEntries(Object.entries(names).map(([name, file]) => [name, [join(ROOT, file)]])),
        typeRoots: [join(ROOT, 'node_modules/@types')],
      },
      include: [],
      files: Object.entries(entries).flatMap(([name, files]) =>
        files.map((file) => join(ROOT, 'packages', name, file)),
      ),
    }),
  );
  await promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), ['-p', config], { cwd: ROOT });
  await rm(config);
  for (const name of Object.keys(entries)) await copyOthers(join(ROOT, 'packages', name, 'src'), into);
  await rewriteFiles(into, /\.d\.ts$/, (text) =>
    text.replaceAll(/(\bfrom\s*|\bimport\s*\(\s*)(['"])(\.{1,2}\/[^'"]+)\.ts\2/g, '$1$2$3.js$2'),
  );
}

/** What is read at run time beside the code, such as migrations, and declarations of what is no TypeScript. */
async function copyOthers(folder: string, into: string): Promise<void> {
  for (const path of await filesIn(folder)) {
    if (/(?<!\.d)\.tsx?$|\.md$/.test(path)) continue;
    const target = join(into, relative(join(ROOT, 'packages'), path));
    await mkdir(dirname(target), { recursive: true });
    await copyFile(path, target);
  }
}

export async function rewriteFiles(
  folder: string,
  names: RegExp,
  rewrite: (text: string, path: string) => string,
): Promise<void> {
  for (const path of await filesIn(folder)) {
    if (!names.test(path)) continue;
    const text = await readFile(path, 'utf8');
    const rewritten = rewrite(text, path);
    if (rewritten !== text) await writeFile(path, rewritten);
  }
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
