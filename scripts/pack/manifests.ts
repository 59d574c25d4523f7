/** The manifests of this repository, and what the packages of it need from npm. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

type Versions = Readonly<Record<string, string>>;

/** The packages that programs import. Those that only these need are published alike, and promise nothing to others. */
export const LIBRARIES = ['domain', 'foundation', 'contract', 'worker', 'client', 'server'] as const;

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly license: string;
  readonly engines?: Versions;
  readonly exports?: Readonly<Record<string, string>>;
  readonly dependencies?: Versions;
  readonly optionalDependencies?: Versions;
  readonly [field: string]: unknown;
}

/** What goes into a tarball. */
export interface Published {
  readonly name: string;
  readonly version: string;
  readonly [field: string]: unknown;
}

/** Puts everything but manifest, README and licence of a package into `staging`, and answers its manifest. */
export interface Fill {
  readonly name: string;
  /** The compiled packages, a folder each. */
  readonly compiled: string;
  readonly staging: string;
}

/** The source files that others may import. */
export function entriesOf({ exports = {} }: Manifest): string[] {
  return Object.values(exports);
}

/** What others write to import them, and the file from the root that it stands for. */
export function importNamesOf(folder: string, { name, exports = {} }: Manifest): Record<string, string> {
  return Object.fromEntries(
    Object.entries(exports).map(([path, file]) => [
      `${name}${path.slice(1)}`,
      join('packages', folder, file),
    ]),
  );
}

export async function readManifest(path: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(ROOT, path, 'package.json'), 'utf8')) as Manifest;
}

export interface Needs {
  /** Names of our own packages, the first one included. */
  readonly packages: readonly string[];
  readonly dependencies: Versions;
  readonly optionalDependencies: Versions;
}

/** Our packages that `name` stands on, directly or through others, and everything they want from npm. */
export async function needsOf(name: string): Promise<Needs> {
  const packages = [name];
  const dependencies = new Map<string, string>();
  const optional = new Map<string, string>();
  for (const one of packages) {
    const manifest = await readManifest(`packages/${one}`);
    for (const [dependency, version] of Object.entries(manifest.dependencies ?? {})) {
      const ours = /^@carillon\/(.+)$/.exec(dependency)?.[1];
      if (ours === undefined) dependencies.set(dependency, version);
      else if (!packages.includes(ours)) packages.push(ours);
    }
    for (const [dependency, version] of Object.entries(manifest.optionalDependencies ?? {}))
      optional.set(dependency, version);
  }
  return { packages, dependencies: sorted(dependencies), optionalDependencies: sorted(optional) };
}

function sorted(versions: ReadonlyMap<string, string>): Versions {
  return Object.fromEntries([...versions].sort(([a], [b]) => (a < b ? -1 : 1)));
}
