/** What simulated jobs do: succeed, fail in every way a handler can, hang, and ignore being told to stop. */
import { type Clock, sleep } from '@carillon/foundation';
import { type Handler, HandlerError, type RunContext } from '@carillon/worker';
import type { ExecutingProcess, ExecutionLog } from './execution-log.ts';

export const ACTS = ['ok', 'fail', 'throw', 'reject', 'hang', 'stubborn'] as const;
/** Takes its process down; rare, because it hits everybody. */
const POISON = 'poison';

/** connectMs: how long it takes to get ready for the deed. failures: attempts that fail before one succeeds. */
export type Behaviour = {
  act: (typeof ACTS)[number] | typeof POISON;
  connectMs?: number;
  ms: number;
  failures: number;
};

export function simulatedHandlers(options: {
  readonly clock: Clock;
  readonly log: ExecutionLog;
  readonly process: ExecutingProcess;
  readonly crash: () => void;
}): ReadonlyMap<string, Handler> {
  const { clock, log, process, crash } = options;
  const handler: Handler = (context) => {
    const { connectMs = 0 } = context.payload as Behaviour;
    return connectMs === 0 ? act(context) : connect(context, connectMs, clock).then(() => act(context));
  };
  const act: Handler = (context) => {
    const end = log.start(context, process);
    const behaviour = context.payload as Behaviour;
    if (behaviour.act === POISON && context.epoch <= behaviour.failures) crash();
    if (behaviour.act === 'throw' && context.attempt <= behaviour.failures) {
      end('threw');
      throw new Error('thrown at once');
    }
    if (behaviour.ms === 0 && behaviour.act === 'ok') {
      end('returned');
      return undefined;
    }
    return perform(context, behaviour, clock).then(
      (value) => {
        end('returned');
        return value;
      },
      (error: unknown) => {
        end('threw');
        throw error;
      },
    );
  };
  return new Map([['simulated', handler]]);
}

/** As a call over the network does: whatever happens meanwhile, it asks right before the deed. */
async function connect(context: RunContext, connectMs: number, clock: Clock): Promise<void> {
  await sleep(clock, connectMs, context.signal);
  if (!context.isHeld()) throw new Error('taken back while it connected');
}

async function perform(context: RunContext, { act, ms, failures }: Behaviour, clock: Clock) {
  const { signal, attempt, epoch } = context;
  // A save that fails is the next attempt's loss alone. The second is not waited for.
  if (ms > 0) await context.checkpoint.save({ epoch, step: 1 }).catch(() => undefined);
  if (ms > 0) void context.checkpoint.save({ epoch, step: 2 });
  await sleep(clock, ms, act === 'stubborn' ? undefined : signal);
  if (act === 'stubborn') return { late: true };
  signal.throwIfAborted();
  if (attempt > failures) return { attempt };
  if (act === 'hang') {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    signal.throwIfAborted();
  }
  if (act === 'reject') throw new HandlerError('will never work', { retryable: false });
  if (act === 'fail') throw new Error('failed');
  return { attempt };
}
