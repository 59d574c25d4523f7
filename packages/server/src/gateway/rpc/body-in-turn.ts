/**
 * The body of a call with one message, passed on whole: a large one in turn (large-bodies.ts), since the library reads the message as soon as it has
 * the bytes.
 */
import type { Caller } from '@carillon/domain';
import { claimantOf } from '../../shared-limit/shared-limit.ts';
import { type Held, type LargeBodies, SMALL_BODY_BYTES } from '../large-bodies.ts';

export interface BodyInTurnOptions {
  /** Counts what is here while the rest is on its way. Throws a refusal where the caller may not send it. */
  readonly hold: (caller: Caller) => Held | undefined;
  readonly turn: LargeBodies['turn'];
  /** Known once the first bytes are asked for. Undefined: a stranger. */
  readonly callerOf: () => Caller | undefined;
  /** Whatever its length: it is compressed, or may hold very many things. */
  readonly isAlwaysInTurn: boolean;
  /** A longer body is passed on as it comes: it is refused by its length. */
  readonly bytesMax: number;
}

export async function* bodyInTurn(
  body: AsyncIterable<Uint8Array>,
  { hold, turn, callerOf, isAlwaysInTurn, bytesMax }: BodyInTurnOptions,
): AsyncGenerator<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  let held: Held | undefined;
  try {
    for await (const part of body) {
      const caller = callerOf();
      if (caller === undefined || bytes > bytesMax) {
        yield* parts.splice(0);
        yield part;
        continue;
      }
      parts.push(part);
      bytes += part.length;
      if (held) held.add(part.length);
      else if (bytes > SMALL_BODY_BYTES) {
        held = hold(caller);
        held?.add(bytes);
      }
    }
    const caller = callerOf();
    if (caller !== undefined && (isAlwaysInTurn || bytes > SMALL_BODY_BYTES)) await turn(claimantOf(caller));
    yield* parts;
  } finally {
    held?.release();
  }
}
