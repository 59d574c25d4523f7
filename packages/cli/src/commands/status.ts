/** `status`: which server commands talk to, and how it is doing. */
import { CarillonError, type Worker } from '@carillon/client';
import { command } from '../command.ts';
import { EXIT } from '../program/exit-codes.ts';

export const status = command({
  name: 'status',
  summary: 'Show how the server is doing',
  details: 'Fails when it cannot run jobs. Workers are shown to those who may see them.',
  examples: ['carillon status', 'carillon status --url https://carillon.example.org'],
  async run({ cli }) {
    const { url, key, from } = await cli.connection();
    const client = await cli.client();
    const { ready, reasons } = await client.ready();
    const who = await unlessRefused(client.session.whoami());
    const workers = await unlessRefused(client.workers.list().toArray());
    const alive = workers?.filter((worker) => worker.alive);
    const sum = (of: (worker: Worker) => number) => alive?.reduce((all, one) => all + of(one), 0) ?? null;
    const running = sum((one) => one.running);
    cli.out.record({ url, ready, reasons, workers: alive?.length ?? null, running }, [
      ['server', url],
      ['found through', from],
      ['ready', ready ? 'yes' : `no: ${reasons.join('; ')}`],
      [
        'you are',
        who?.name ??
          `nobody${key === undefined ? '' : ', the key is not valid'}: \`carillon login\` signs you in`,
      ],
      ['workers', who && (alive ? String(alive.length) : 'not visible to you')],
      ['running', alive && `${running} of ${sum((one) => one.slots)} slots`],
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
