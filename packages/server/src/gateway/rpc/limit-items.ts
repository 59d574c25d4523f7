/**
 * The body of a call with a stream of messages, each looked at before it is read: one that holds too many things ends the stream. Messages
 * are passed on as they came, once they are there whole; so whoever takes them holds no more of them than before.
 */
import type { DescMessage } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { type Held, SMALL_BODY_BYTES } from '../large-bodies.ts';
import { exceedsItems, exceedsItemsInJson, type ItemLimits, isWorthCounting } from './count-items.ts';

export interface LimitItemsOptions {
  readonly input: DescMessage;
  readonly contentType: string;
  readonly limits: ItemLimits;
  /** A longer message is passed on as it comes: it is refused by its length. */
  readonly bytesMax: number;
  /** Counts what of a message is here while the rest is on its way. Left out: nobody does. */
  readonly hold?: (() => Held | undefined) | undefined;
}

/** A byte of flags and four that say how long the message is: alike in gRPC, gRPC-Web and Connect. */
const HEAD_BYTES = 5;

export async function* limitItems(
  body: AsyncIterable<Uint8Array>,
  options: LimitItemsOptions,
): AsyncGenerator<Uint8Array> {
  const { limits, bytesMax, hold } = options;
  let parts: Uint8Array[] = [];
  let bytes = 0;
  /** Of the message that is on its way, with its head. Undefined: not known yet. */
  let length: number | undefined;
  let held: Held | undefined;
  try {
    for await (const chunk of body) {
      parts.push(chunk);
      bytes += chunk.length;
      for (;;) {
        if (length === undefined && bytes >= HEAD_BYTES) {
          const whole = joined(parts);
          parts = [whole];
          length = HEAD_BYTES + new DataView(whole.buffer, whole.byteOffset).getUint32(1);
        }
        if (length === undefined || (bytes < length && length <= HEAD_BYTES + bytesMax)) break;
        const whole = joined(parts);
        const message = whole.subarray(HEAD_BYTES, length);
        if (whole.length >= length && isWorthCounting(message.length, limits)) requireFew(message, options);
        held?.release();
        yield whole.subarray(0, length);
        const rest = whole.subarray(length);
        [parts, bytes, length] = [rest.length > 0 ? [rest] : [], rest.length, undefined];
        if (bytes < HEAD_BYTES) break;
      }
      held?.release();
      if (bytes > SMALL_BODY_BYTES) {
        held ??= hold?.();
        held?.add(bytes);
      }
    }
    if (bytes > 0) yield joined(parts);
  } finally {
    held?.release();
  }
}

function requireFew(message: Uint8Array, { input, contentType, limits }: LimitItemsOptions): void {
  const isTooMuch = contentType.includes('json')
    ? exceedsItemsInJson(message, limits)
    : exceedsItems(input, message, limits);
  if (isTooMuch)
    throw new ConnectError(
      `a message holds more than ${limits.items} items, or more than ${limits.numbers} numbers`,
      Code.ResourceExhausted,
    );
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}
