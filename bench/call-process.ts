/**
 * A process that stays and carries out one call after the other; ask-process.ts has those that take a single order. Both sides
 * are here: `startCalled` starts the process, and in it `answerCalls` says what it can do. It ends with its parent.
 */
import { once } from 'node:events';
import { forkApart } from './ask-process.ts';

// biome-ignore lint/suspicious/noExplicitAny: what each takes is known to the two sides, not here.
type Calls = Readonly<Record<string, (order: any) => Promise<unknown>>>;

/** Longer than a server or a worker takes to drain. */
const endPatienceMs = 60_000;

type Call = { readonly id: number; readonly name: string; readonly order: unknown };
type Answer = { readonly id: number; readonly value?: unknown; readonly problem?: string };

export type Called<Known extends Calls> = {
  readonly pid: number;
  call<Name extends keyof Known & string>(
    name: Name,
    order: Parameters<Known[Name]>[0],
  ): Promise<Awaited<ReturnType<Known[Name]>>>;
  /** Resolves when it has ended. */
  end(): Promise<void>;
};

export function startCalled<Known extends Calls>(
  module: URL,
  { env = {}, abort }: { env?: Readonly<Record<string, string>>; abort: AbortSignal },
): Called<Known> {
  const child = forkApart(module, env);
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let made = 0;
  let gone: Error | undefined;
  const exited = once(child, 'exit').then(([code]) => {
    gone = new Error(`${module.pathname.split('/').at(-1)} ended with ${code}`);
    for (const each of waiting.values()) each.reject(gone);
  });
  const interrupt = () => child.kill('SIGKILL');
  if (abort.aborted) interrupt();
  abort.addEventListener('abort', interrupt);
  child.on('message', (message) => {
    const { id, value, problem } = message as Answer;
    const asked = waiting.get(id);
    waiting.delete(id);
    if (problem === undefined) asked?.resolve(value);
    else asked?.reject(new Error(problem));
  });
  return {
    pid: child.pid!,
    call(name, order) {
      if (gone) return Promise.reject(gone);
      made += 1;
      const asked = Promise.withResolvers<unknown>();
      waiting.set(made, asked);
      child.send({ id: made, name, order } satisfies Call);
      return asked.promise as Promise<never>;
    },
    async end() {
      abort.removeEventListener('abort', interrupt);
      if (!gone) child.disconnect();
      const killer = setTimeout(interrupt, endPatienceMs);
      await exited;
      clearTimeout(killer);
    },
  };
}

/** `onEnd` is called when the parent wants no more, or is gone. */
export function answerCalls(calls: Calls, onEnd: () => Promise<void> = async () => undefined): void {
  process.once('disconnect', () => {
    void onEnd().finally(() => process.exit(0));
  });
  process.on('message', (message) => {
    const { id, name, order } = message as Call;
    const answer = (content: Omit<Answer, 'id'>) => process.connected && process.send?.({ id, ...content });
    calls[name]!(order).then(
      (value) => answer({ value }),
      (error: unknown) => {
        // The stack is for the terminal; the report gets the sentence.
        console.error(error);
        answer({ problem: error instanceof Error ? error.message : String(error) });
      },
    );
  });
}
