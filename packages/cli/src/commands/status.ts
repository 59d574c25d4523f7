/** `status`: which server commands talk to, and how it is doing. */
import { CarillonError } from '@carillon/client';
import { command } from '../command.ts';
import { EXIT } from '../program/exit-codes.ts';

export const status = command({
  name: 'status',
  summary: 'Show how the server is doing',
  details: 'Fails when it cannot run jobs.',
  examples: ['carillon status', 'carillon status --url https://carillon.example.org'],
  async run({ cli }) {
    const { url, from } = await cli.connection();
    const client = await cli.client();
    const { ready, reasons } = await client.ready();
    const who = await unlessRefused(client.session.whoami());
    const workers = (await unlessRefused(client.workers.list().toArray())) ?? [];
    const alive = workers.filter((worker) => worker.alive);
    const sum = (of: (worker: (typeof alive)[number]) => number) =>
      alive.reduce((all, one) => all + of(one), 0);
    cli.out.record({ url, ready, reasons, workers: alive.length, running: sum((one) => one.running) }, [
      ['server', url],
      ['found through', from],
      ['ready', ready ? 'yes' : `no: ${reasons.join('; ')}`],
      ['you are', who ? who.name : 'nobody: `carillon login` signs you in'],
      ['workers', who ? String(alive.length) : undefined],
      ['running', who ? `${sum((one) => one.running)} of ${sum((one) => one.slots)} slots` : undefined],
    ]);
    return ready ? EXIT.ok : EXIT.failed;
  },
});

/** Whether it is up is told to everybody; what goes on inside only to those who may know. */
async function unlessRefused<T>(asked: Promise<T>): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (error instanceof CarillonError && error.status !== undefined) return undefined;
    throw error;
  });
}
