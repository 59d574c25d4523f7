/**
 * `node scripts/generate-rpc.ts [folder]`: writes src/rpc/generated of packages/contract and src/protocol/generated of packages/worker
 * from the proto files, after judging them; both below the folder named, if one is. Run it when they change. Messages of the calls
 * become one module, carillon.ts.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const CONTRACT = join(ROOT, 'packages/contract');
const WORKER = join(ROOT, 'packages/worker');
const folder = process.argv[2] ?? CONTRACT;
const generated = join(folder, 'src/rpc/generated');

for (const command of [
  ['lint'],
  ['generate', '--output', folder],
  ['generate', '--output', folder, '--template', 'buf.gen.grpc.yaml'],
  ['generate', '--output', process.argv[2] ?? WORKER, '--template', 'buf.gen.worker.yaml'],
]) {
  const program = join(ROOT, 'node_modules/.bin/buf');
  const { status } = spawnSync(program, command, { cwd: CONTRACT, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

const ours = join(generated, 'carillon/v1');
const texts = readdirSync(ours)
  .sort()
  .map((name) => readFileSync(join(ours, name), 'utf8'));
writeFileSync(join(generated, 'carillon.ts'), joined(texts));
rmSync(join(generated, 'carillon'), { recursive: true });

/** Imports of libraries are merged; those of each other fall away, and what is imported comes first. */
function joined(modules: readonly string[]): string {
  const names = new Map<string, Set<string>>();
  const [alone, others]: [string[], string[]] = [[], []];
  for (const text of modules) {
    const body = text.replaceAll(
      /^import (type )?\{ (.*) \} from "([^"]*)";\n/gm,
      (_, type = '', list, from) => {
        const line = `import ${type}{ … } from "${from}";`;
        const known = names.get(line) ?? new Set();
        if (!from.startsWith('.')) names.set(line, new Set([...known, ...list.split(', ')]));
        return '';
      },
    );
    (text.includes('from "./') ? others : alone).push(body);
  }
  const imports = [...names].map(([line, found]) => line.replace('…', [...found].sort().join(', ')));
  return [...imports, '', ...alone, ...others].join('\n');
}
