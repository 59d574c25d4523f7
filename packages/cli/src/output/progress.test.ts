import { describe, expect, onTestFinished, test } from 'vitest';
import { ProgressBar, WaitingLine } from './progress.ts';

/** A terminal that keeps what is written, line by line as it is drawn over. */
function paper(): { terminal: NodeJS.WriteStream; drawn: string[] } {
  const drawn: string[] = [];
  const write = (text: string) => drawn.push(text.replace('\r\x1b[K', '')) > 0;
  return { terminal: { write } as unknown as NodeJS.WriteStream, drawn };
}

describe('a progress bar', () => {
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
});

describe('a waiting line', () => {
  test('it says what is waited for and for how long, and is taken away', () => {
    let nowMs = 5_000;
    const written: string[] = [];
    const terminal = { write: (text: string) => written.push(text) > 0 } as unknown as NodeJS.WriteStream;
    const line = new WaitingLine(terminal, () => nowMs);
    onTestFinished(() => line.end());
    line.start('pending');
    nowMs += 12_345;
    line.draw();
    line.end();
    expect(written).toEqual(['\r\x1b[Kpending for 12 s; Ctrl-C ends the watching', '\r\x1b[K']);
  });

  test('it fits a terminal of 80 columns, however long it takes', () => {
    const written: string[] = [];
    const terminal = { write: (text: string) => written.push(text) > 0 } as unknown as NodeJS.WriteStream;
    const times = [0, 1_000 * 3_600_000];
    const line = new WaitingLine(terminal, () => times.shift() ?? 0);
    onTestFinished(() => line.end());
    line.start('completed');
    line.draw();
    expect(written[0]?.length).toBeLessThan(80);
  });

  test('without a terminal it is silent', () => {
    const line = new WaitingLine(undefined);
    line.start('pending');
    expect(() => line.end()).not.toThrow();
  });
});
