/** Tells that nobody offers a handler: a job that waits for one would otherwise only be noticed by what does not happen. */
import { CarillonError } from '@carillon/client';
import type { Cli } from '../cli.ts';

export async function warnWithoutWorkers(cli: Cli, handlers: Iterable<string>): Promise<void> {
  const client = await cli.client();
  const wanted = new Set(handlers);
  if (wanted.size === 0) return;
  try {
    for await (const worker of client.workers.list()) {
      if (worker.alive) for (const handler of worker.handlers) wanted.delete(handler);
    }
  } catch (error) {
    // What was asked for is done, and who may not see workers cannot be told about them.
    if (error instanceof CarillonError) return;
    throw error;
  }
  for (const handler of wanted)
    cli.out.warn(`no worker offers the handler "${handler}" at the moment; runs will wait until one does.`);
}
