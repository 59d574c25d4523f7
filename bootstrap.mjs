// The first thing `npm start` and its siblings run: makes a fresh clone ready (a new enough Node, the packages of the
// lockfile) and hands over to the command. Plain JavaScript without dependencies, so that it runs on Node 18 and newer.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPage } from './scripts/bootstrap/build-page.mjs';
import { Failure } from './scripts/bootstrap/failure.mjs';
import { installPackages } from './scripts/bootstrap/install-packages.mjs';
import { pickNode } from './scripts/bootstrap/pick-node.mjs';
import { runCommand } from './scripts/bootstrap/run-command.mjs';

const root = dirname(fileURLToPath(import.meta.url));

// A command that people run gets what the product needs; one for those who work on it gets everything.
const COMMANDS = {
  start: { script: 'packages/server/src/main.ts', packages: 'product', page: true },
  test: { script: 'scripts/test.ts', before: ['test'] },
  'test:long': { script: 'scripts/test.ts', before: ['test:long'] },
  check: { script: 'scripts/test.ts', before: ['check'] },
  bench: { script: 'bench/run.ts' },
  pack: { script: 'scripts/pack.ts' },
  generate: { script: 'scripts/generate.ts' },
};

async function main([name, ...rest]) {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command)
    throw new Failure(`Usage: node bootstrap.mjs ${Object.keys(COMMANDS).join(' | ')} [arguments]`, 2);
  const node = await pickNode(root);
  const { script, before = [], packages = 'all', page = false } = command;
  await installPackages(root, node, packages);
  if (page) await buildPage(root, node);
  // Relative paths in arguments are meant from where the user stands, so the working directory stays as it is.
  return await runCommand(node, [join(root, script), ...before, ...rest], { cwd: process.cwd() });
}

try {
  process.exit(await main(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  if (error.message !== 'interrupted') process.stderr.write(`carillon: ${error.message}\n`);
  process.exit(error.exitCode);
}
