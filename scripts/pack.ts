/**
 * `node scripts/pack.ts [folder]`: makes the tarballs that people install, in ./dist or the folder named: carillon-<version>.tgz
 * (command and server in one) and one for each library, such as carillon-client-<version>.tgz. What is in them needs nothing
 * of this repository. `npm publish <tarball>` publishes one.
 */
import { resolve } from 'node:path';
import { packAll } from './pack/pack-all.ts';

const folder = resolve(process.argv[2] ?? 'dist');
for (const path of Object.values(await packAll(folder))) console.log(path);
