/**
 * A worker as people write one, to be killed, frozen and drained by tests: its handlers call the receiver, which writes down what was
 * executed. Arguments: the servers, the key, seconds to drain, and the names of its handlers.
 */
import { createWorker, type RunContext } from '@carillon/worker';

const [servers = '', key = '', drainSeconds = '30', handlers = 'remote'] = process.argv.slice(2);

/** As an http job does: the receiver sees when it begins and when it is broken off. */
async function call({ payload, signal, runId, epoch, attempt }: RunContext): Promise<unknown> {
  const response = await fetch(String(epoch > 1 ? payload.next_url : payload.url), {
    method: 'POST',
    signal,
    headers: {
      'idempotency-key': runId,
      'carillon-epoch': String(epoch),
      'carillon-attempt': String(attempt),
    },
  });
  return { status: response.status };
}

const worker = createWorker({
  servers: servers.split(','),
  key,
  slots: 4,
  name: 'a test',
  drainSeconds: Number(drainSeconds),
});
for (const handler of handlers.split(',')) worker.handle(handler, call);
// The descriptor closes with the test: what a killed test run started ends.
process.stdin.on('end', () => process.exit(1)).resume();
await worker.run();
process.exit(0);
