/**
 * The body of a call with a stream of messages, each looked at before it is read: one that holds too many things ends the stream. Messages
 * are passed on as they came, once they are there whole; so whoever takes them holds no more of them than before.
 */
import type { DescMessage } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { exceedsItems, exceedsItemsInJson, type ItemLimits, isWorthCounting } from './count-items.ts';

export interface LimitItemsOptions {
  readonly input: DescMessage;
  readonly contentType: string;
  readonly limits: ItemLimits;
  /** A longer message is passed on as it comes: it is refused by its length. */
  readonly bytesMax: number;
}

/** A byte of flags and four that say how long the message is: alike in gRPC, gRPC-Web and Connect. */
const HEAD_BYTES = 5;

export async function* limitItems(
  body: AsyncIterable<Uint8Array>,
  options: LimitItemsOptions,
): AsyncGenerator<Uint8Array> {
  const { limits, bytesMax } = options;
  let parts: Uint8Array[] = [];
  let held = 0;
  /** Of the message that is on its way, with its head. Undefined: not known yet. */
  let length: number | undefined;
  for await (const chunk of body) {
    parts.push(chunk);
    held += chunk.length;
    for (;;) {
      if (length === undefined && held >= HEAD_BYTES) {
        const whole = joined(parts);
        parts = [whole];
        length = HEAD_BYTES + new DataView(whole.buffer, whole.byteOffset).getUint32(1);
      }
      if (length === undefined || (held < length && length <= HEAD_BYTES + bytesMax)) break;
      const whole = joined(parts);
      const message = whole.subarray(HEAD_BYTES, length);
      if (whole.length >= length && isWorthCounting(message.length, limits)) requireFew(message, options);
      yield whole.subarray(0, length);
      const rest = whole.subarray(length);
      [parts, held, length] = [rest.length > 0 ? [rest] : [], rest.length, undefined];
      if (held < HEAD_BYTES) break;
    }
  }
  if (held > 0) yield joined(parts);
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
