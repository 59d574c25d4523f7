/** Runs that failed for good: look at them, send them round again. */
import type {
  DeadLetter,
  DeadLetterFilter,
  RedriveManyReport,
  RedriveManyRequest,
  Redriven,
} from '../generated/types.ts';
import { List } from '../wire/list.ts';
import type { CallOptions, Transport } from '../wire/transport.ts';

export class DeadLetters {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(filter: DeadLetterFilter = {}, options: CallOptions = {}): List<DeadLetter> {
    return new List(this.#transport, { ...options, path: '/dead-letters', query: { ...filter } });
  }

  get(runId: string, options: CallOptions = {}): Promise<DeadLetter> {
    return this.#transport.json({ ...options, method: 'GET', path: pathOf(runId) });
  }

  redrive(runId: string, options: CallOptions = {}): Promise<Redriven> {
    return this.#transport.json({ ...options, method: 'POST', path: pathOf(runId, '/redrive') });
  }

  redriveMany(request: RedriveManyRequest, options: CallOptions = {}): Promise<RedriveManyReport> {
    return this.#transport.json({
      ...options,
      method: 'POST',
      path: '/dead-letters/redrive',
      body: request,
    });
  }
}

function pathOf(runId: string, rest = ''): string {
  return `/dead-letters/${encodeURIComponent(runId)}${rest}`;
}
