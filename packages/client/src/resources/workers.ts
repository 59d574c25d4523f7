/** Who runs jobs. */
import type { Worker } from '../generated/types.ts';
import { List } from '../wire/list.ts';
import type { CallOptions, Transport } from '../wire/transport.ts';

export class Workers {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: { readonly limit?: number } = {}, options: CallOptions = {}): List<Worker> {
    return new List(this.#transport, { ...options, path: '/workers', query: { ...query } });
  }

  get(workerId: string, options: CallOptions = {}): Promise<Worker> {
    return this.#transport.json({
      ...options,
      method: 'GET',
      path: `/workers/${encodeURIComponent(workerId)}`,
    });
  }
}
