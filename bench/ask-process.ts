/**
 * Sends one order to a process of its own and hands back its one answer, bounded in time. Whatever happens to the process,
 * an answer comes: a failure is one too.
 */
import { fork } from 'node:child_process';

export type Failed = { readonly ok: false; readonly reason: string };

export function askProcess<Answer extends { readonly ok: true }>(options: {
  module: URL;
  order: object;
  patienceMs: number;
  abort: AbortSignal;
  env?: Readonly<Record<string, string>>;
}): Promise<Answer | Failed> {
  const { module, order, patienceMs, abort, env } = options;
  const child = fork(module, {
    env: { ...process.env, ...env, NODE_ENV: 'production' },
    // Its own group: a Ctrl-C reaches it through the bench, which first lets go of it and then stops the servers.
    detached: true,
  });

  return new Promise((resolve) => {
    let answer: Answer | Failed = { ok: false, reason: 'the process ended without an answer' };
    const giveUp = (reason: string) => {
      answer = { ok: false, reason };
      child.kill('SIGKILL');
    };
    const timer = setTimeout(
      () => giveUp(`no answer within ${Math.round(patienceMs / 1_000)} s`),
      patienceMs,
    );
    const interrupt = () => giveUp('interrupted');
    if (abort.aborted) interrupt();
    abort.addEventListener('abort', interrupt);
    child.once('message', (message) => {
      answer = message as Answer | Failed;
    });
    child.once('error', (error) => giveUp(error.message));
    child.once('exit', () => {
      clearTimeout(timer);
      abort.removeEventListener('abort', interrupt);
      resolve(answer);
    });
    child.send(order);
  });
}
