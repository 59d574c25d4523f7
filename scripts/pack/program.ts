/** The `carillon` command with the server in it, as one package. */
import { chmod, copyFile, cp, mkdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { dashboardFolder } from '../../packages/dashboard/build.mjs';
import { rewriteFiles } from './compile.ts';
import { type Fill, needsOf, type Published, ROOT, readManifest } from './manifests.ts';

export async function fillProgram({ name, compiled, staging }: Fill): Promise<Published> {
  const { version, description, license } = await readManifest('.');
  const { packages, dependencies, optionalDependencies } = await needsOf(name);
  const dist = join(staging, 'dist');
  for (const one of packages) {
    await cp(join(compiled, one), join(dist, one), {
      recursive: true,
      filter: (path) => !path.endsWith('.d.ts'),
    });
  }
  await rewriteFiles(dist, /\.js$/, (text, path) => importsByPlace(text, { path, dist }));
  await cp(dashboardFolder, join(dist, 'dashboard'), { recursive: true });
  await mkdir(join(staging, 'bin'));
  await copyFile(join(ROOT, 'scripts/pack/launcher.mjs'), join(staging, 'bin/carillon.mjs'));
  await chmod(join(staging, 'bin/carillon.mjs'), 0o755);
  await cp(join(ROOT, 'scripts/bootstrap'), join(staging, 'bin/bootstrap'), { recursive: true });
  return {
    name: 'carillon',
    version,
    ...(description !== undefined && { description }),
    license,
    type: 'module',
    bin: { carillon: 'bin/carillon.mjs' },
    // The launcher runs on these, and brings a newer Node where it needs one.
    engines: { node: '>=20' },
    dependencies,
    optionalDependencies,
    files: ['bin', 'dist'],
  };
}

/** Our own packages lie beside each other here: they are found by their place, and not among what npm installed. */
function importsByPlace(text: string, { path, dist }: { path: string; dist: string }): string {
  return text.replaceAll(
    /(\bfrom\s*|\bimport\s*\(?\s*)(['"])@carillon\/(\w+)\2/g,
    (_, before, quote, name) => {
      const place = relative(dirname(path), join(dist, name, 'src/index.js')).replaceAll('\\', '/');
      return `${before}${quote}${place.startsWith('.') ? place : `./${place}`}${quote}`;
    },
  );
}
