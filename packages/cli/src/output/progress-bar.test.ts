import { expect, test } from 'vitest';
import { ProgressBar } from './progress-bar.ts';

/** A terminal that keeps what is written, line by line as it is drawn over. */
function paper(): { terminal: NodeJS.WriteStream; drawn: string[] } {
  const drawn: string[] = [];
  const write = (text: string) => drawn.push(text.replace('\r\x1b[K', '')) > 0;
  return { terminal: { write } as unknown as NodeJS.WriteStream, drawn };
}

test('it starts empty, fills with the work, and is taken away', () => {
  const { terminal, drawn } = paper();
  const bar = new ProgressBar(4, terminal);
  bar.advance();
  bar.advance(3);
  bar.end();
  expect(drawn).toEqual([
    `${'░'.repeat(30)} 0/4`,
    `${'█'.repeat(7)}${'░'.repeat(23)} 1/4`,
    `${'█'.repeat(30)} 4/4`,
    '',
  ]);
});

test('more than was expected never overflows it', () => {
  const { terminal, drawn } = paper();
  const bar = new ProgressBar(2, terminal);
  bar.advance(5);
  expect(drawn.at(-1)).toBe(`${'█'.repeat(30)} 2/2`);
});

test('nothing to do draws no bar', () => {
  const { terminal, drawn } = paper();
  new ProgressBar(0, terminal).advance();
  expect(drawn).toEqual([]);
});

test('without a terminal it is silent', () => {
  const bar = new ProgressBar(3, undefined);
  bar.advance();
  expect(() => bar.end()).not.toThrow();
});
