/** carillon-<version>.tgz: the `carillon` command with the server in it. */
import { chmod, copyFile, cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { compile } from './compile.ts';
import { makeTarball } from './make-tarball.ts';
import { needsOf, ROOT, readManifest } from './manifests.ts';

const README = `# Carillon

A distributed job scheduler: jobs run at their instant, at least once, never twice at the same time.

    npx carillon start
    npx carillon jobs create hello --http http://127.0.0.1:7420/health/live --wait
    npx carillon --help
`;

export async function packProgram(folder: string): Promise<string> {
  const { version, description, license } = await readManifest('.');
  const { packages, dependencies, optionalDependencies } = await needsOf('cli');
  return makeTarball({
    folder,
    readme: README,
    manifest: {
      name: 'carillon',
      version,
      description,
      license,
      type: 'module',
      bin: { carillon: 'bin/carillon.mjs' },
      // The launcher runs on these, and brings a newer Node where it needs one.
      engines: { node: '>=20' },
      dependencies,
      optionalDependencies,
    },
    async fill(staging) {
      await compile({ packages, into: join(staging, 'dist'), declarations: false });
      await mkdir(join(staging, 'bin'));
      await copyFile(join(ROOT, 'scripts/pack/launcher.mjs'), join(staging, 'bin/carillon.mjs'));
      await chmod(join(staging, 'bin/carillon.mjs'), 0o755);
      await cp(join(ROOT, 'scripts/bootstrap'), join(staging, 'bin/bootstrap'), { recursive: true });
    },
  });
}
