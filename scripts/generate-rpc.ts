/** Writes packages/contract/src/rpc/generated from the proto files, after judging them. Run it when they change. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const buf = join(ROOT, 'node_modules', '.bin', 'buf');

for (const command of [['lint'], ['generate'], ['generate', '--template', 'buf.gen.grpc.yaml']]) {
  const { status } = spawnSync(buf, command, { cwd: join(ROOT, 'packages/contract'), stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
