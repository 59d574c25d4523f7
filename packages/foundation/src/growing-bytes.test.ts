import { expect, test } from 'vitest';
import { GrowingBytes } from './growing-bytes.ts';

test('pieces of any size are one text, in memory of at most twice its length', () => {
  const bytes = new GrowingBytes();
  let text = '';
  expect(bytes.view().length).toBe(0);
  for (const length of [0, 1, 2, 255, 1, 700, 3, 5_000, 1]) {
    const piece = 'x'.repeat(length);
    bytes.add(Buffer.from(piece));
    text += piece;
    expect(bytes.view().toString()).toBe(text);
    expect(bytes.length).toBe(text.length);
    expect(bytes.view().buffer.byteLength).toBeLessThanOrEqual(Math.max(256, 2 * text.length));
  }
});

test('memory that was given is not kept', () => {
  const bytes = new GrowingBytes();
  const piece = Buffer.from('one');
  bytes.add(piece);
  piece.fill('-');
  expect(bytes.view().toString()).toBe('one');
});
