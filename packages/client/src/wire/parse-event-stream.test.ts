import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseEventStream, type StreamMessage } from './parse-event-stream.ts';

async function messagesOf(chunks: Uint8Array[]): Promise<StreamMessage[]> {
  async function* source() {
    yield* chunks;
  }
  const found: StreamMessage[] = [];
  for await (const message of parseEventStream(source())) found.push(message);
  return found;
}

const STREAM =
  'retry: 2000\n\n: beat\n\nid: 1-2-3\nevent: io.carillon.job.created\ndata: {"a":\ndata:  "é"}\n\nid:9\r\ndata:x\r\n\r\nhalf';

test('messages are the same however the bytes arrive', async () => {
  const bytes = new TextEncoder().encode(STREAM);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 8 }), async (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const chunks = places.slice(1).map((end, i) => bytes.subarray(places[i], end));
      expect(await messagesOf(chunks)).toEqual([
        { id: undefined, event: undefined, data: undefined, retryMs: 2_000 },
        { id: undefined, event: undefined, data: undefined, retryMs: undefined },
        { id: '1-2-3', event: 'io.carillon.job.created', data: '{"a":\n "é"}', retryMs: undefined },
        { id: '9', event: undefined, data: 'x', retryMs: undefined },
      ]);
    }),
    { numRuns: 200 },
  );
});
