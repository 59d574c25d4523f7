// Builds the dashboard when its sources have changed since the last build, at most one bootstrap at a time. A server without its
// dashboard still runs jobs, so a build that fails is told and stops nothing.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { withFileLock } from './file-lock.mjs';
import { withProgress } from './progress.mjs';

export async function buildPage(root, node) {
  const program = join(root, 'packages/dashboard/build.mjs');
  if (!existsSync(program)) return;
  const { isDashboardBuilt } = await import(pathToFileURL(program).href);
  if (isDashboardBuilt()) return;
  const build = async () => {
    if (isDashboardBuilt()) return;
    await withProgress('building the dashboard', () => promisify(execFile)(node, [program]));
  };
  try {
    await withFileLock(join(root, '.tools', 'page.lock'), build, () =>
      process.stderr.write('carillon: waiting for another start that builds the dashboard …\n'),
    );
  } catch (error) {
    const why = String(error.stderr || error.message).trim();
    process.stderr.write(
      `carillon: the server starts without its dashboard, which could not be built:\n${why}\n`,
    );
  }
}
