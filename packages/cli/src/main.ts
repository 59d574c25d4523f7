/** The `carillon` program. */
import { runCli } from './program.ts';

// `carillon jobs list | head` closes the pipe early: whoever reads has seen enough, and that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

// The lock of the data folder uses a part of Node that still announces itself as experimental; that helps nobody here.
const emitWarning = process.emitWarning.bind(process);
process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
  if (rest[0] !== 'ExperimentalWarning') emitWarning(warning, ...(rest as []));
};

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
});
