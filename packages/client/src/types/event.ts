/** What happened, as CloudEvents. */
import type { Json } from './job.ts';

export interface CarillonEvent {
  readonly specversion: '1.0';
  /** Where a stream is taken up again. */
  readonly id: string;
  /** Such as `io.carillon.run.succeeded`. */
  readonly type: string;
  readonly source: string;
  readonly subject?: string | undefined;
  readonly time: string;
  readonly datacontenttype: string;
  readonly data: { readonly [name: string]: Json | undefined };
}
