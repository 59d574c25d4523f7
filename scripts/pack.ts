/**
 * `node scripts/pack.ts [folder]`: makes the two tarballs that people install, carillon-<version>.tgz (command and server)
 * and carillon-client-<version>.tgz, in ./dist or the folder named. What is in them needs nothing of this repository.
 */
import { resolve } from 'node:path';
import { packClient } from './pack/pack-client.ts';
import { packProgram } from './pack/pack-program.ts';

const folder = resolve(process.argv[2] ?? 'dist');
for (const pack of [packProgram, packClient]) console.log(await pack(folder));
