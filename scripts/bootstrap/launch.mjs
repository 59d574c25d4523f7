// Runs a program of ours that belongs to a person's terminal (prompts, colours, Ctrl-C): right here when this Node is new
// enough, else on the private one, which is fetched once into the folder given.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Failure } from './failure.mjs';
import { pickNode } from './pick-node.mjs';

export async function launch(program, { folder }) {
  try {
    const node = await pickNode(folder);
    if (node === process.execPath) await import(program.href);
    else process.exit(await handOver(node, program));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    process.stderr.write(`carillon: ${error.message}\n`);
    process.exit(error.exitCode);
  }
}

/** The terminal signals the child itself; what is sent to us alone is passed on. */
function handOver(node, program) {
  const args = ['--disable-warning=ExperimentalWarning', fileURLToPath(program), ...process.argv.slice(2)];
  const child = spawn(node, args, { stdio: 'inherit' });
  process.on('SIGINT', () => undefined);
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
}
