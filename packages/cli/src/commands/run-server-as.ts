/** A whole server in this process, under the name of the command that started it: its --help says so. */
import type { Call, CommandSpec } from '../command.ts';

export async function runServerAs(
  { name, summary, examples }: CommandSpec,
  { args, cli }: Pick<Call<object>, 'args' | 'cli'>,
): Promise<never> {
  // Loaded when asked for: the other commands need neither database driver nor web server.
  const { runServer } = await import('@carillon/server');
  const { env, cwd } = cli.world;
  const invocation = { command: `carillon ${name}`, summary: `${summary}.`, examples };
  process.exit(await runServer({ argv: args, env, cwd }, invocation));
}
