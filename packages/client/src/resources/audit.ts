/** The record of every change: who, what, before and after, from where. */
import type { AuditEntry, AuditFilter } from '../generated/types.ts';
import { List } from '../wire/list.ts';
import type { CallOptions, Transport } from '../wire/transport.ts';

export class Audit {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(filter: AuditFilter = {}, options: CallOptions = {}): List<AuditEntry> {
    return new List(this.#transport, { ...options, path: '/audit', query: { ...filter } });
  }
}
