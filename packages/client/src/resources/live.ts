/** Updates for pages: which jobs and runs to read again. A page that hears nothing for a while is up to date. */
import type { LiveUpdate } from '../generated/types.ts';
import { followStream } from '../wire/follow-stream.ts';
import { Resource } from './resource.ts';

export interface LiveOptions {
  /** Left out: every one that the caller may see. */
  readonly namespace?: string | undefined;
  /** Goes on after this update. Left out: from now on. */
  readonly lastEventId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called each time the stream is open. */
  readonly onOpen?: (() => void) | undefined;
  /** Called with everything that arrives, also beats: what is shown was up to date then. */
  readonly onHeard?: (() => void) | undefined;
  /** Called each time it has broken: what is shown may be old until the next update. */
  readonly onLost?: (() => void) | undefined;
}

export class Live extends Resource {
  stream({ namespace, ...options }: LiveOptions = {}): AsyncGenerator<LiveUpdate, void, undefined> {
    return followStream<LiveUpdate>(this.transport, { ...options, path: '/live', query: { namespace } });
  }
}
