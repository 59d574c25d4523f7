/** `npm run generate`: writes every file that is derived from another and committed. Tests compare each with its source. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

for (const script of ['generate-rpc.ts', 'generate-client-types.ts', 'generate-docs.ts']) {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, script)], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
