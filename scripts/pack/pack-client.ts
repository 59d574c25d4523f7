/** carillon-client-<version>.tgz: the client, with its types, and nothing else. */
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { compile } from './compile.ts';
import { makeTarball } from './make-tarball.ts';
import { needsOf, ROOT, readManifest } from './manifests.ts';

export async function packClient(folder: string): Promise<string> {
  const { version, license } = await readManifest('.');
  const { packages, dependencies } = await needsOf('client');
  return makeTarball({
    folder,
    readme: await readFile(join(ROOT, 'docs/client.md'), 'utf8'),
    manifest: {
      name: '@carillon/client',
      version,
      description: 'The client of Carillon, a distributed job scheduler.',
      license,
      type: 'module',
      exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
      types: './dist/index.d.ts',
      engines: { node: '>=20.3' },
      dependencies,
    },
    async fill(staging) {
      const compiled = join(staging, 'compiled');
      await compile({ packages, into: compiled, declarations: true });
      await rename(join(compiled, 'client/src'), join(staging, 'dist'));
      await rm(compiled, { recursive: true });
    },
  });
}
