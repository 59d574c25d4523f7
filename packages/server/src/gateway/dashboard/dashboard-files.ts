/**
 * The built page, read once at the start: a few megabytes, so that requests touch no file and no name in a request can lead
 * anywhere else. Each file comes with what the build compressed.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';

export interface DashboardFile {
  readonly type: string;
  readonly body: Buffer;
  readonly br?: Buffer | undefined;
  readonly gzip?: Buffer | undefined;
}

export interface DashboardFiles {
  /** The document, with a mark where the server writes into its head. */
  readonly document: string;
  /** By their path below the page, such as `assets/index-x.js`. */
  readonly files: ReadonlyMap<string, DashboardFile>;
}

/** The build writes it last. */
const MARK = 'built-from.txt';
const DOCUMENT = 'index.html';

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** Beside the sources of the server, in a clone; beside what was compiled, in the packages that people install. */
const FOLDERS = ['../../../../dashboard/dist', '../../../../dashboard', '../../../dashboard'];

/** Undefined: no page was built. */
export async function openDashboard(): Promise<DashboardFiles | undefined> {
  const folder = FOLDERS.map((each) => join(import.meta.dirname, each)).find((each) =>
    existsSync(join(each, MARK)),
  );
  return folder === undefined ? undefined : await readDashboard(folder);
}

export async function readDashboard(folder: string): Promise<DashboardFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const files = new Map<string, DashboardFile>();
  for (const path of paths) {
    const type = TYPES[extname(path)];
    if (type === undefined) continue;
    const beside = async (suffix: string) =>
      paths.includes(path + suffix) ? await readFile(path + suffix) : undefined;
    files.set(relative(folder, path).replaceAll(sep, '/'), {
      ...{ type, body: await readFile(path), br: await beside('.br'), gzip: await beside('.gz') },
    });
  }
  return { document: await readFile(join(folder, DOCUMENT), 'utf8'), files };
}
