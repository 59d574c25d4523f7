/** One of our packages as others install it: compiled, with types, under the exports that its manifest names. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { dashboardFolder } from '../../packages/dashboard/build.mjs';
import { type Fill, type Published, readManifest } from './manifests.ts';

export async function fillLibrary({ name, compiled, staging }: Fill): Promise<Published> {
  const { version, engines } = await readManifest('.');
  const { exports = {}, ...manifest } = await readManifest(`packages/${name}`);
  await cp(join(compiled, name, 'src'), join(staging, 'dist'), { recursive: true });
  // The server brings its page along, built.
  if (name === 'server') await cp(dashboardFolder, join(staging, 'dashboard'), { recursive: true });
  const { private: _, devDependencies: __, ...published } = manifest;
  return {
    ...published,
    version,
    engines: manifest.engines ?? engines ?? {},
    // Those who resolve modules the old way find the types of the main entry here.
    types: './dist/index.d.ts',
    exports: Object.fromEntries(
      Object.entries(exports).map(([path, source]) => {
        const target = source.replace(/^\.\/src\//, './dist/').replace(/\.ts$/, '');
        return [path, { types: `${target}.d.ts`, default: `${target}.js` }];
      }),
    ),
    files: name === 'server' ? ['dist', 'dashboard'] : ['dist'],
    publishConfig: { access: 'public' },
  };
}
