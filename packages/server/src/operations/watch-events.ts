/** Follows what happens. The stream judges event by event what its caller may see; whoever opens it closes it. */
import type { Caller, EventPlace } from '@carillon/domain';
import type { EventFilter } from './event-feed/event-filter.ts';
import type { EventStream } from './event-feed/event-stream.ts';
import type { OperationPorts } from './operation-ports.ts';

export function watchEvents(ports: OperationPorts) {
  return (
    caller: Caller,
    options: { filter?: EventFilter; after?: EventPlace | undefined } = {},
  ): EventStream => ports.events.open(caller, options.filter, options.after);
}
