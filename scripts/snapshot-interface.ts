/**
 * `node scripts/snapshot-interface.ts`: keeps the interface of this version in packages/contract/released, when it is released.
 * Tests hold every later one against it: see docs/compatibility.md.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { allOperations } from '../packages/server/src/gateway/api/all-operations.ts';
import type { ApiContext } from '../packages/server/src/gateway/api/operation.ts';
import { buildOpenApi, type OpenApiDocument } from '../packages/server/src/gateway/openapi/build-openapi.ts';

const ROOT = join(import.meta.dirname, '..');
export const CONTRACT = join(ROOT, 'packages/contract');
export const RELEASED = join(CONTRACT, 'released');
export const BUF = join(ROOT, 'node_modules/.bin/buf');

export function presentOpenApi(): OpenApiDocument {
  const operations = allOperations({ operations: {}, address: '' } as ApiContext);
  return JSON.parse(JSON.stringify(buildOpenApi(operations, manifest.version))) as OpenApiDocument;
}

/** Words and examples promise nothing to programs, and are most of the text. */
function withoutWords(value: unknown, isMap = false): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutWords(one));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(
    ([name, inner]) =>
      isMap ||
      !(
        ['example', 'examples', 'tags'].includes(name) ||
        (['description', 'summary'].includes(name) && typeof inner === 'string')
      ),
  );
  return Object.fromEntries(
    entries.map(([name, inner]) => [name, withoutWords(inner, !isMap && name === 'properties')]),
  );
}

if (import.meta.main) {
  const folder = join(RELEASED, `v${manifest.version}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'openapi.json'), `${JSON.stringify(withoutWords(presentOpenApi()), null, 1)}\n`);
  execFileSync(BUF, ['build', '--exclude-source-info', '-o', join(folder, 'rpc.binpb')], { cwd: CONTRACT });
  console.log(folder);
}
