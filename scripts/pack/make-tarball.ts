/** A folder as the tarball that `npm install` takes. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './manifests.ts';

export interface TarballOptions {
  readonly manifest: { readonly name: string; readonly version: string } & Record<string, unknown>;
  readonly readme: string;
  /** Where the tarball goes. */
  readonly folder: string;
  /** Puts everything but manifest, README and licence into the folder it is given. */
  readonly fill: (staging: string) => Promise<void>;
}

/** Answers the path of the tarball. */
export async function makeTarball({ manifest, readme, folder, fill }: TarballOptions): Promise<string> {
  const staging = await mkdtemp(join(tmpdir(), 'carillon-pack-'));
  try {
    await fill(staging);
    await writeFile(join(staging, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    await writeFile(join(staging, 'README.md'), readme);
    await copyFile(join(ROOT, 'LICENSE'), join(staging, 'LICENSE'));
    await mkdir(folder, { recursive: true });
    await promisify(execFile)('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], {
      cwd: staging,
    });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  const file = `${manifest.name.replace(/^@/, '').replace('/', '-')}-${manifest.version}.tgz`;
  return join(folder, file);
}
