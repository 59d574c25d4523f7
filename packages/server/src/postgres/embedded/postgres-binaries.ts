/**
 * Finds the PostgreSQL programs that were installed as a package for this platform and makes them runnable: packages
 * cannot contain symbolic links, so the listed ones are created here, beside the originals or, where those may not be
 * written, in a private copy.
 */
import { access, chmod, constants, cp, lstat, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import type { OpenFolder } from '../../open-folder.ts';
import { adviceFor, EmbeddedPostgresError } from './embedded-postgres-error.ts';

export type PostgresBinaries = { readonly postgres: string; readonly initdb: string };

type Link = { source: string; target: string };

/** The folder of the installed package for this platform. */
export function installedBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new EmbeddedPostgresError('binaries_missing', adviceFor('binaries_missing', ''), { cause });
  }
}

/** Makes the package at `packageDir` runnable; `folder` takes a private copy when the package itself may not be written. */
export async function preparePostgresBinaries(
  packageDir: string,
  folder: OpenFolder,
): Promise<PostgresBinaries> {
  const missing = await missingLinks(packageDir);
  if (missing.length === 0) return programsIn(packageDir);
  try {
    await createLinks(packageDir, missing);
    return programsIn(packageDir);
  } catch (error) {
    if (!isWriteRefusal(error)) throw error;
    return await copyPostgresBinaries(packageDir, folder);
  }
}

/** A complete private copy in `binaries`, for users who may not read or write the package itself; made once. */
export async function copyPostgresBinaries(
  packageDir: string,
  folder: OpenFolder,
): Promise<PostgresBinaries> {
  const { version } = JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8')) as {
    version: string;
  };
  await using copies = await folder.makeFolder('binaries', { mode: 0o755 });
  await using home = (await copies.folder(version)) ?? (await copy(packageDir, { copies, version }));
  return programsIn(home.path);
}

async function copy(
  packageDir: string,
  { copies, version }: { copies: OpenFolder; version: string },
): Promise<OpenFolder> {
  const scratch = `${version}.incoming`;
  await copies.remove(scratch);
  // Written to by path: nobody else may have a hand in it.
  await using made = await copies.makeOwnFolder(scratch, { mode: 0o755 });
  const native = made.at('native');
  await cp(join(packageDir, 'native'), native, { recursive: true, verbatimSymlinks: true });
  await allowWriting(native);
  await createLinks(dirname(native), await missingLinks(dirname(native)));
  return copies.rename(scratch, version);
}

// A copy takes over the modes of its original, whose folders may be read-only.
async function allowWriting(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await allowWriting(join(folder, entry.name));
  }
}

async function programsIn(packageDir: string): Promise<PostgresBinaries> {
  const bin = join(packageDir, 'native', 'bin');
  const binaries = { postgres: join(bin, 'postgres'), initdb: join(bin, 'initdb') };
  try {
    await Promise.all(Object.values(binaries).map((path) => access(path, constants.X_OK)));
  } catch (cause) {
    throw new EmbeddedPostgresError('binaries_missing', adviceFor('binaries_missing', ''), { cause });
  }
  return binaries;
}

async function missingLinks(packageDir: string): Promise<Link[]> {
  let listed: Link[];
  try {
    listed = JSON.parse(await readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8')) as Link[];
  } catch {
    // Not every platform's package needs links.
    return [];
  }
  const present = await Promise.all(listed.map(({ target }) => exists(join(packageDir, target))));
  return listed.filter((_, index) => !present[index]);
}

async function createLinks(packageDir: string, links: readonly Link[]): Promise<void> {
  for (const { source, target } of links) {
    const path = join(packageDir, target);
    try {
      await symlink(relative(dirname(path), join(packageDir, source)) || basename(source), path);
    } catch (error) {
      // Two servers that start at once from one installation create the same link.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (!(await exists(path)) && (await lstat(path)).isSymbolicLink()) throw error;
    }
  }
}

function isWriteRefusal(error: unknown): boolean {
  return ['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '');
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
