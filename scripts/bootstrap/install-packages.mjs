// Installs the packages the lockfile names when that changed since the last installation, and does nothing otherwise. Each must
// have the hash that the lockfile names, the programs in them included. The mark of a finished installation lies inside
// node_modules, which npm empties first: a broken one never counts.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from './failure.mjs';
import { withFileLock } from './file-lock.mjs';
import { isComplete, isThere, neededBy } from './lockfile.mjs';
import { npm } from './npm.mjs';
import { withProgress } from './progress.mjs';

// Where the product is. Tests, benchmarks and tools are needed by the root and by other workspaces only.
const PRODUCT = 'packages';

/**
 * Makes node_modules match the lockfile, at most one bootstrap at a time. `wanted` is `product` or `all`; where all packages are
 * installed, the product has what it needs, so going to and fro between the two installs nothing.
 */
export async function installPackages(root, node, wanted = 'all') {
  if (isInstalled(root, wanted)) return;
  try {
    await withFileLock(
      join(root, '.tools', 'install.lock'),
      async () => {
        if (isInstalled(root, wanted)) return;
        const found = ['all', wanted].find((set) => matchesHiddenLockfile(root, set));
        if (!found) await withProgress('installing packages', () => installAnew(root, node, wanted));
        writeFileSync(markOf(root), `${found ?? wanted} ${fingerprint(root)}\n`);
      },
      () => process.stderr.write('carillon: waiting for another start that is installing packages …\n'),
    );
  } catch (error) {
    if (error.code !== 'EACCES' && error.code !== 'EROFS' && error.code !== 'EPERM') throw error;
    throw new Failure(
      `Packages must be installed, but ${error.path ?? root} cannot be written by you. Run the command as the owner of this folder, or make a clone of your own.`,
    );
  }
}

// No package needs its install script, so none is given the chance to run one.
async function installAnew(root, node, wanted) {
  const options = ['--ignore-scripts', '--no-audit', '--no-fund'];
  if (wanted === 'product') options.push('--omit=dev', `--workspace=${PRODUCT}`);
  if (isComplete(lockedPackages(root))) return await npm(['ci', ...options], { node, cwd: root });
  // `npm ci` refuses a lockfile that lacks the optional packages of other platforms, and a registry that does not carry
  // them makes such lockfiles. Starting from an empty folder without saving installs the same versions.
  rmSync(join(root, 'node_modules'), { recursive: true, force: true });
  await npm(['install', '--no-save', ...options], { node, cwd: root });
}

function isInstalled(root, wanted) {
  if (!existsSync(markOf(root))) return false;
  const [set, mark] = readFileSync(markOf(root), 'utf8').trim().split(' ');
  return (set === wanted || set === 'all') && mark === fingerprint(root);
}

function markOf(root) {
  return join(root, 'node_modules', '.carillon-install');
}

function fingerprint(root) {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`);
  for (const path of manifests(root))
    hash
      .update(path)
      .update('\0')
      .update(readFileSync(join(root, path)))
      .update('\0');
  return hash.digest('hex');
}

function manifests(root) {
  const found = ['package-lock.json', 'package.json'];
  for (const pattern of JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).workspaces ?? []) {
    const folders = pattern.endsWith('/*')
      ? readdirSync(join(root, pattern.slice(0, -2))).map((name) => `${pattern.slice(0, -1)}${name}`)
      : [pattern];
    for (const folder of folders)
      if (existsSync(join(root, folder, 'package.json'))) found.push(`${folder}/package.json`);
  }
  return found.sort();
}

function lockedPackages(root) {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
}

// After `npm install something` by hand node_modules is right already, and npm's own record in it says so: it is written
// last, so it stands for a finished installation.
function matchesHiddenLockfile(root, wanted) {
  try {
    const locked = lockedPackages(root);
    const hidden = readFileSync(join(root, 'node_modules', '.package-lock.json'), 'utf8');
    const present = JSON.parse(hidden).packages;
    const paths =
      wanted === 'all' ? Object.keys(locked) : neededBy(locked, (path) => path.startsWith(`${PRODUCT}/`));
    return paths.every(
      (path) =>
        !path.startsWith('node_modules/') ||
        (isThere(locked[path], present[path]) && (!present[path] || existsSync(join(root, path)))),
    );
  } catch {
    return false;
  }
}
