/** The version of a package as installed, for the report: what ran, not what package.json hoped for. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export function installedVersion(packageName: string): string {
  // Packages with an `exports` map hide their package.json from require: walk up from the entry point instead.
  let folder = dirname(fileURLToPath(import.meta.resolve(packageName)));
  while (folder !== dirname(folder)) {
    const file = join(folder, 'package.json');
    if (existsSync(file)) {
      const manifest = JSON.parse(readFileSync(file, 'utf8')) as { name?: string; version?: string };
      if (manifest.name === packageName && manifest.version) return manifest.version;
    }
    folder = dirname(folder);
  }
  throw new Error(`no package.json found for ${packageName}`);
}
