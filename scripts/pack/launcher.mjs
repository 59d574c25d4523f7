#!/usr/bin/env node
// The `carillon` command of an installed package. On a Node that is new enough the program runs right here; an older one
// fetches a private copy once, into the cache folder of the user, and hands over to that.
import { spawn } from 'node:child_process';
import { constants, homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure } from './bootstrap/failure.mjs';
import { pickNode } from './bootstrap/pick-node.mjs';

const PROGRAM = new URL('../dist/cli/src/main.js', import.meta.url);

try {
  const cache = process.env.XDG_CACHE_HOME || join(process.env.HOME || homedir(), '.cache');
  const node = await pickNode(join(cache, 'carillon'));
  if (node === process.execPath) await import(PROGRAM.href);
  else process.exit(await handOver(node));
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  process.stderr.write(`carillon: ${error.message}\n`);
  process.exit(error.exitCode);
}

/** The terminal signals the child itself; what is sent to us alone is passed on. */
function handOver(node) {
  const child = spawn(node, [fileURLToPath(PROGRAM), ...process.argv.slice(2)], { stdio: 'inherit' });
  process.on('SIGINT', () => undefined);
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
}
