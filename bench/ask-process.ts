/**
 * One order to a process of its own and one answer back, bounded in time. Both sides are here: `askProcess` sends the order,
 * and in the process `answerParent` takes it. Whatever happens to the process, an answer or a reason comes.
 */
import { type ChildProcess, fork } from 'node:child_process';

type Failed = { readonly ok: false; readonly reason: string };

/** In a group of its own: a Ctrl-C reaches it through the bench, which first lets go of it and then stops the servers. */
export function forkApart(module: URL, env: Readonly<Record<string, string>> = {}): ChildProcess {
  return fork(module, { env: { ...process.env, ...env, NODE_ENV: 'production' }, detached: true });
}

/** Rejects with the reason when there is no answer. */
export function askProcess<Answer extends { readonly ok: true }>(options: {
  module: URL;
  order: object;
  patienceMs: number;
  abort: AbortSignal;
  env?: Readonly<Record<string, string>>;
}): Promise<Answer> {
  const { module, order, patienceMs, abort, env } = options;
  const child = forkApart(module, env);
  return new Promise((resolve, reject) => {
    let answer: Answer | Failed = { ok: false, reason: 'the process ended without an answer' };
    const giveUp = (reason: string) => {
      answer = { ok: false, reason };
      child.kill('SIGKILL');
    };
    const seconds = Math.round(patienceMs / 1_000);
    const timer = setTimeout(() => giveUp(`no answer within ${seconds} s`), patienceMs);
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
      if (answer.ok) resolve(answer);
      else reject(new Error(answer.reason));
    });
    child.send(order);
  });
}

/** Takes one order over IPC, answers with one message, and ends with its parent. */
export function answerParent<Order, Answer extends { readonly ok: true }>(
  carryOut: (order: Order) => Promise<Answer>,
): void {
  const answer = async (order: Order): Promise<void> => {
    const result = await carryOut(order).catch((error: unknown): Failed => {
      // The stack is for the terminal; the report gets the sentence.
      console.error(error);
      return { ok: false, reason: error instanceof Error ? error.message : String(error) };
    });
    process.send?.(result, () => process.exit(0));
  };
  process.once('disconnect', () => process.exit(1));
  process.once('message', (order) => void answer(order as Order));
}
