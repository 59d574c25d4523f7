/** Namespaces keep the jobs of one team apart from those of another. */
import type { Namespace } from '../generated/types.ts';
import { List } from '../wire/list.ts';
import type { CallOptions, CreateOptions, Transport } from '../wire/transport.ts';

export class Namespaces {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: { readonly limit?: number } = {}, options: CallOptions = {}): List<Namespace> {
    return new List(this.#transport, { ...options, path: '/namespaces', query: { ...query } });
  }

  get(name: string, options: CallOptions = {}): Promise<Namespace> {
    return this.#transport.json({ ...options, method: 'GET', path: pathOf(name) });
  }

  /** One that is already there exactly as asked for is answered as if it were new. */
  create(
    namespace: { readonly name: string; readonly description?: string },
    options: CreateOptions = {},
  ): Promise<Namespace> {
    return this.#transport.create('/namespaces', namespace, options);
  }

  update(
    name: string,
    change: { readonly description?: string },
    options: CallOptions = {},
  ): Promise<Namespace> {
    return this.#transport.json({ ...options, method: 'PATCH', path: pathOf(name), body: change });
  }

  /** Refused while there are jobs in it. */
  remove(name: string, options: CallOptions = {}): Promise<unknown> {
    return this.#transport.json({ ...options, method: 'DELETE', path: pathOf(name) });
  }
}

function pathOf(name: string): string {
  return `/namespaces/${encodeURIComponent(name)}`;
}
