/**
 * Handlers of tests alone. `deaf` takes its time whatever it is told. `visit` is that of the chaos test, in TypeScript; visit.go and visiting_worker.py do the same. An attempt is one connection to the receiver:
 * it says `begin`, then `step` before each step and `saved` once the checkpoint is durable, then `end`. Every word is answered.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunContext } from '../../../../packages/worker/src/index.ts';

export async function deaf({ payload }: RunContext): Promise<object> {
  await sleep(Number(payload.ms));
  return payload;
}

export async function visit(run: RunContext): Promise<object> {
  const { to = 1, step_ms: stepMs = 0, port = 0, saves = false } = run.payload;
  const startedAt = Number(run.checkpoint.value ?? 0);
  const socket = await open(Number(port), run.signal);
  try {
    const say = async (word: string, at: number) => {
      // Right before the effect: a process that stood still does nothing beside the next attempt.
      if (!run.isHeld()) throw new Error('the run is not held any more');
      const who = { run_id: run.runId, epoch: run.epoch, visitor: process.env.VISITOR };
      socket.write(`${JSON.stringify({ word, at, ...who })}\n`);
      const [answer] = await once(socket, 'data', { signal: run.signal });
      if (String(answer) !== 'ok\n') throw new Error(`the receiver answers ${answer}`);
    };
    await say('begin', startedAt);
    for (let at = startedAt + 1; at <= Number(to); at += 1) {
      await sleep(Number(stepMs), undefined, { signal: run.signal });
      await say('step', at);
      if (!saves) continue;
      await run.checkpoint.save(at);
      await say('saved', at);
    }
    await say('end', Number(to));
    return { visited: Number(to), started_at: startedAt };
  } finally {
    socket.destroy();
  }
}

function open(port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    // Whoever is told to stop stops at once, also in the middle of a word.
    signal.addEventListener('abort', () => socket.destroy(new Error('told to stop')), { once: true });
    socket.once('connect', () => resolve(socket));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the connection was closed')));
  });
}
