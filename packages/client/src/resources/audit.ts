/** The record of every change: who, what, before and after, from where. */
import type { AuditEntry } from '../types/account.ts';
import { List } from '../wire/list.ts';
import type { CallOptions, Transport } from '../wire/transport.ts';

export interface AuditFilter {
  readonly namespace?: string | undefined;
  /** Id or name of who did it. */
  readonly actor?: string | undefined;
  /** Such as `jobs.update`. */
  readonly action?: string | undefined;
  readonly subject_id?: string | undefined;
  readonly from?: Date | string | undefined;
  readonly until?: Date | string | undefined;
  readonly limit?: number | undefined;
}

export class Audit {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(filter: AuditFilter = {}, options: CallOptions = {}): List<AuditEntry> {
    return new List(this.#transport, { ...options, path: '/audit', query: { ...filter } });
  }
}
