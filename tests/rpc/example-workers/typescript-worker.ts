/** The handlers of the example workers, written with @carillon/worker: the third language of the suite. Same arguments, same behaviour. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createLog } from '@carillon/foundation';
import { createWorker, HandlerError, type RunContext } from '../../../packages/worker/src/index.ts';
import { deaf, visit } from './chaos/visit.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string', multiple: true, default: [] },
    slots: { type: 'string', default: '4' },
    name: { type: 'string', default: 'worker' },
    label: { type: 'string', multiple: true, default: [] },
    'tls-ca': { type: 'string' },
    'tls-cert': { type: 'string' },
    'tls-key': { type: 'string' },
    'drain-seconds': { type: 'string', default: '30' },
  },
});

const number = (run: RunContext, name: string, otherwise: number) => Number(run.payload[name] ?? otherwise);

const worker = createWorker({
  servers: values.url.map((url) => (url.includes('://') ? url : `http://${url}`)),
  key: process.env.CARILLON_KEY ?? '',
  slots: Number(values.slots),
  name: values.name,
  labels: Object.fromEntries(values.label.map((label) => label.split('='))),
  tls: {
    ...(values['tls-ca'] && { caFile: values['tls-ca'] }),
    ...(values['tls-cert'] && { certFile: values['tls-cert'] }),
    ...(values['tls-key'] && { keyFile: values['tls-key'] }),
  },
  drainSeconds: Number(values['drain-seconds']),
  endWhenKeyRefused: true,
  log: createLog({ level: 'info' }),
});

worker
  .handle('count', async (run) => {
    const to = number(run, 'to', 10);
    const startedAt = Number(run.checkpoint.value ?? 0);
    for (let at = startedAt + 1; at <= to; at += 1) {
      await sleep(number(run, 'step_ms', 1_000), undefined, { signal: run.signal });
      run.log.info(`counted ${at}`);
      await run.checkpoint.save(at);
      run.progress((100 * at) / to);
    }
    return { counted: to, started_at: startedAt };
  })
  .handle('echo', (run) => {
    run.log.info(String(run.payload.text ?? ''));
    run.log.error(`attempt ${run.attempt}, epoch ${run.epoch}`);
    return run.payload;
  })
  .handle('fail', (run) => {
    throw new HandlerError(String(run.payload.message), { retryable: run.payload.retryable !== false });
  })
  .handle('resize-image', (run) => ({
    width: number(run, 'width', 640),
    height: (number(run, 'width', 640) * 3) / 4,
  }))
  .handle('wait', async (run) => {
    await sleep(number(run, 'ms', 1_000), undefined, { signal: run.signal });
    return { waited_ms: number(run, 'ms', 1_000) };
  });

// In some tests alone.
if (process.env.VISITOR !== undefined) worker.handle('visit', visit).handle('deaf', deaf);

try {
  await worker.run();
} catch (error) {
  console.error(`the server refuses this worker: ${(error as Error).message}`);
  process.exitCode = 1;
}
