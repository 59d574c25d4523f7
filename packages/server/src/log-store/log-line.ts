/** A line of a log as it is kept and shown: `<milliseconds since 1970> o|e|s text`. */
import type { OutputStream } from '@carillon/worker';

export interface LogLine {
  readonly atMs: number;
  readonly stream: OutputStream;
  readonly text: string;
}

const LETTERS: Readonly<Record<OutputStream, string>> = { stdout: 'o', stderr: 'e', system: 's' };
const STREAMS = new Map(Object.entries(LETTERS).map(([stream, letter]) => [letter, stream as OutputStream]));
const LINE = /^(\d+) ([oes]) (.*)$/su;

/** What stands before its text: characters of one byte each. */
export function lineHead({ atMs, stream }: Pick<LogLine, 'atMs' | 'stream'>): string {
  return `${Math.trunc(atMs)} ${LETTERS[stream]} `;
}

export function writeLine(line: LogLine): string {
  return `${lineHead(line)}${line.text}\n`;
}

/** Of a line without its end. Undefined for what no server of ours has written. */
export function parseLine(line: string): LogLine | undefined {
  const [, ms, letter = '', text = ''] = LINE.exec(line) ?? [];
  const stream = STREAMS.get(letter);
  return stream && { atMs: Number(ms), stream, text };
}
