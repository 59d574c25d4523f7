/** What the first visit loads: the document and everything that it names, compressed as the server sends it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { dashboardFolder } from '../../packages/dashboard/build.mjs';

const KB = 1_000;
const SCRIPTS_MAX = 300 * KB;
const STYLES_MAX = 40 * KB;

test('the initial load is at most 300 KB of scripts and 40 KB of styles, compressed', () => {
  const page = readFileSync(join(dashboardFolder, 'index.html'), 'utf8');
  const named = [...page.matchAll(/(?:src|href)="(?:\.\/)?([^"]+\.(?:js|css))"/g)].map(([, path]) => path!);
  const all = withImports(new Set(named));
  const size = (kind: string) =>
    [...all].filter((path) => path.endsWith(kind)).reduce((sum, path) => sum + compressed(path), 0);
  const [scripts, styles] = [size('.js'), size('.css')];
  console.log(
    `initial load: ${(scripts / KB).toFixed(1)} KB of scripts, ${(styles / KB).toFixed(1)} KB of styles, in ${all.size} files`,
  );
  expect(scripts).toBeGreaterThan(0);
  expect(styles).toBeGreaterThan(0);
  expect(scripts).toBeLessThanOrEqual(SCRIPTS_MAX);
  expect(styles).toBeLessThanOrEqual(STYLES_MAX);
});

/** A script that is loaded at once brings what it imports at its top, preloaded or not. */
function withImports(paths: Set<string>): ReadonlySet<string> {
  for (const path of paths) {
    if (!path.endsWith('.js')) continue;
    const text = readFileSync(join(dashboardFolder, path), 'utf8');
    for (const [, name] of text.matchAll(/(?:^|[;}])(?:import|export)[^;()]*?["']\.\/([^"']+\.js)["']/g))
      paths.add(`assets/${name}`);
  }
  return paths;
}

function compressed(path: string): number {
  return gzipSync(readFileSync(join(dashboardFolder, path)), { level: 9 }).length;
}
