/** What the parts of the client have in common: how each kind of call is sent, and how an id gets into a path. */
import { List } from '../wire/list.ts';
import type { Call, CallOptions, Transport } from '../wire/transport.ts';

export interface PageQuery {
  /** Entries of one page. */
  readonly limit?: number | undefined;
}

export interface RunPageQuery extends PageQuery {
  /** `result`: with what handlers answered, which is left out otherwise. */
  readonly include?: 'result' | undefined;
}

export abstract class Resource {
  protected readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  protected read<T>(path: string, options: CallOptions, query?: Call['query']): Promise<T> {
    return this.transport.json({ ...options, method: 'GET', path, query });
  }

  protected readList<T>(path: string, query: Call['query'], options: CallOptions): List<T> {
    return new List(this.transport, { ...options, path, query });
  }

  protected send<T>(
    method: Call['method'],
    path: string,
    options: CallOptions,
    more: Pick<Call, 'body' | 'headers' | 'query' | 'repeatable'> = {},
  ): Promise<T> {
    return this.transport.json({ ...options, ...more, method, path });
  }
}

/** A path as a template: the values in it are encoded. */
export function path(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: texts }, ...values.map(encodeURIComponent));
}
