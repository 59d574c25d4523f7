/** API keys. */
import type { ApiKey, CreatedKey, NewKey } from '../generated/types.ts';
import { List } from '../wire/list.ts';
import type { CallOptions, Transport } from '../wire/transport.ts';

export class Keys {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: { readonly limit?: number } = {}, options: CallOptions = {}): List<ApiKey> {
    return new List(this.#transport, { ...options, path: '/keys', query: { ...query } });
  }

  get(keyId: string, options: CallOptions = {}): Promise<ApiKey> {
    return this.#transport.json({ ...options, method: 'GET', path: pathOf(keyId) });
  }

  /**
   * `key` of the answer is shown this once: keep it. A call whose answer was lost is not repeated, for the server could
   * not show the key again.
   */
  create(key: NewKey, options: CallOptions = {}): Promise<CreatedKey> {
    return this.#transport.json({ ...options, method: 'POST', path: '/keys', body: key });
  }

  revoke(keyId: string, options: CallOptions = {}): Promise<unknown> {
    return this.#transport.json({ ...options, method: 'DELETE', path: pathOf(keyId) });
  }
}

function pathOf(keyId: string): string {
  return `/keys/${encodeURIComponent(keyId)}`;
}
