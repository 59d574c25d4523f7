/**
 * Everything that people install, made of one compilation. The command is one package that holds all of ours, so that one
 * file installs it. The libraries are packages of their own that need each other by exact version, so that a class such as
 * `HandlerError` exists once in a program, whichever of them it was imported from.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildDashboard } from '../../packages/dashboard/build.mjs';
import { compile } from './compile.ts';
import { fillLibrary } from './library.ts';
import { entriesOf, importNamesOf, LIBRARIES, type Published, ROOT, readManifest } from './manifests.ts';
import { fillProgram } from './program.ts';

/** Answers the path of each tarball by the name of its package. */
export async function packAll(folder: string): Promise<Readonly<Record<string, string>>> {
  const scratch = await mkdtemp(join(tmpdir(), 'carillon-pack-'));
  try {
    await buildDashboard();
    const compiled = join(scratch, 'compiled');
    const manifests = await Promise.all(LIBRARIES.map((name) => readManifest(`packages/${name}`)));
    const entries = LIBRARIES.map((name, i) => [name, entriesOf(manifests[i]!)] as const);
    await compile({
      entries: Object.fromEntries([...entries, ['cli', ['src/main.ts']]]),
      names: Object.assign({}, ...LIBRARIES.map((name, i) => importNamesOf(name, manifests[i]!))),
      into: compiled,
    });

    const staged: { folder: string; manifest: Published }[] = [];
    for (const name of [...LIBRARIES, 'cli']) {
      const staging = join(scratch, `package-${name}`);
      await mkdir(staging);
      const fill = name === 'cli' ? fillProgram : fillLibrary;
      const manifest = await fill({ name, compiled, staging });
      await writeFile(join(staging, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
      await copyFile(join(ROOT, 'packages', name, 'README.md'), join(staging, 'README.md'));
      await copyFile(join(ROOT, 'LICENSE'), join(staging, 'LICENSE'));
      staged.push({ folder: staging, manifest });
    }
    await mkdir(folder, { recursive: true });
    await promisify(execFile)(
      'npm',
      ['pack', '--ignore-scripts', '--pack-destination', folder, ...staged.map((one) => one.folder)],
      { cwd: scratch },
    );
    return Object.fromEntries(
      staged.map(({ manifest }) => [manifest.name, join(folder, tarballName(manifest))]),
    );
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function tarballName({ name, version }: Published): string {
  return `${name.replace(/^@/, '').replace('/', '-')}-${version}.tgz`;
}
