/** Reads the source files and manifests of all packages, as the architecture tests see them. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Project, SourceFile } from './check-arrows.ts';

export const ROOT = join(import.meta.dirname, '../..');

/** Written by a script from the published protocol: bound by the arrows, not by our habits. */
export const GENERATED = /\/generated\//;

/** Every .ts and .tsx file under packages/<name>/src, by path, and the generated ones. */
export async function readSources(): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  for (const name of await packageNames()) {
    const entries = await readdir(join(ROOT, 'packages', name, 'src'), { recursive: true });
    for (const entry of entries.filter((path) => /\.tsx?$|\/generated\/.*\.js$/.test(path))) {
      const path = `packages/${name}/src/${entry.replaceAll('\\', '/')}`;
      files.push({ path, text: await readFile(join(ROOT, path), 'utf8') });
    }
  }
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

export async function readProject(): Promise<Project> {
  const declared = new Map<string, Set<string>>();
  for (const name of await packageNames()) {
    const manifest = JSON.parse(
      await readFile(join(ROOT, 'packages', name, 'package.json'), 'utf8'),
    ) as Record<
      'dependencies' | 'optionalDependencies' | 'peerDependencies',
      Record<string, string> | undefined
    >;
    const lists = [manifest.dependencies, manifest.optionalDependencies, manifest.peerDependencies];
    declared.set(name, new Set(lists.flatMap((list) => Object.keys(list ?? {}))));
  }
  return { files: await readSources(), declared };
}

async function packageNames(): Promise<string[]> {
  const entries = await readdir(join(ROOT, 'packages'), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}
