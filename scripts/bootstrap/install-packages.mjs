// Installs the packages the lockfile names when that changed since the last installation, and does nothing otherwise.
// The mark of a finished installation lies inside node_modules, which npm empties first: a broken one never counts.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from './failure.mjs';
import { withFileLock } from './file-lock.mjs';
import { npm } from './npm.mjs';
import { withProgress } from './progress.mjs';

/** Makes node_modules match the lockfile, at most one bootstrap at a time. */
export async function installPackages(root, node) {
  if (isInstalled(root)) return;
  try {
    await withFileLock(
      join(root, '.tools', 'install.lock'),
      async () => {
        if (isInstalled(root)) return;
        if (!matchesHiddenLockfile(root)) {
          await withProgress('installing packages', () => installAnew(root, node));
        }
        writeFileSync(markOf(root), `${fingerprint(root)}\n`);
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
async function installAnew(root, node) {
  const options = ['--ignore-scripts', '--no-audit', '--no-fund'];
  if (lockfileIsComplete(root)) return await npm(['ci', ...options], { node, cwd: root });
  // `npm ci` refuses a lockfile that lacks the optional packages of other platforms, and a registry that does not carry
  // them makes such lockfiles. Starting from an empty folder without saving installs the same versions.
  rmSync(join(root, 'node_modules'), { recursive: true, force: true });
  await npm(['install', '--no-save', ...options], { node, cwd: root });
}

function lockfileIsComplete(root) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return Object.entries(packages).every(([path, entry]) =>
    Object.keys(entry.optionalDependencies ?? {}).every(
      (name) => packages[`node_modules/${name}`] ?? packages[`${path}/node_modules/${name}`],
    ),
  );
}

function isInstalled(root) {
  const mark = markOf(root);
  return existsSync(mark) && readFileSync(mark, 'utf8').trim() === fingerprint(root);
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

// After `npm install something` by hand node_modules is right already, and npm's own record in it says so: it is written
// last, so it stands for a finished installation. Optional packages not made for this platform may be missing from it.
function matchesHiddenLockfile(root) {
  try {
    const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
    const present = JSON.parse(
      readFileSync(join(root, 'node_modules', '.package-lock.json'), 'utf8'),
    ).packages;
    return Object.entries(wanted).every(([path, entry]) => {
      if (path === '' || !path.startsWith('node_modules/')) return true;
      const have = present[path];
      if (!have) return isDispensable(entry);
      return have.version === entry.version && have.link === entry.link && existsSync(join(root, path));
    });
  } catch {
    return false;
  }
}

function isDispensable(entry) {
  const madeForUs =
    entry.os?.includes(process.platform) && entry.cpu?.includes(process.arch) && entry.libc === undefined;
  return entry.optional === true && !madeForUs;
}
