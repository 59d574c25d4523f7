/** The last words of a stream: why it ends, and whether the worker may dial again. */
import { create } from '@bufbuild/protobuf';
import { protocol as P } from '@carillon/worker';

export interface Goodbye {
  readonly reason: string;
  readonly dialAgain: boolean;
  readonly afterMs?: number;
}

export function goodbyeFrame(goodbye: Goodbye): P.SessionResponse {
  const frame = create(P.SessionResponseSchema);
  fillGoodbye(frame, goodbye);
  return frame;
}

export function fillGoodbye(frame: P.SessionResponse, { reason, dialAgain, afterMs = 0 }: Goodbye): void {
  frame.goodbye = create(P.GoodbyeSchema, { reason, dialAgain, afterMs });
}
