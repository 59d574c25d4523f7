/**
 * The order in which the log of a run is shown: attempt by attempt as they were handed out, each with how it began, what it wrote and how
 * it ended. Not by time alone: clocks of workers differ, and attempts that were lost have the same number as those that repeat them.
 */
import type { LogLine, LogMessage } from '@carillon/client';

/** What a run wrote. `epoch`: of the handing-out; 0 where only some lines were asked for. */
export type WrittenLine = Omit<Extract<LogMessage, { kind: 'line' }>, 'kind'>;
export type ShownLine = LogLine | WrittenLine;

export const STREAMS = { o: 'stdout', e: 'stderr', s: 'system' } as const;

export function inOrder(story: readonly LogLine[], written: readonly WrittenLine[]): ShownLine[] {
  const stories = Map.groupBy(story, ({ epoch }) => epoch);
  const outputs = Map.groupBy(written, ({ epoch }) => epoch);
  const epochs = [...new Set([...stories.keys(), ...outputs.keys()])].sort((a, b) => a - b);
  return epochs.flatMap((epoch): ShownLine[] => {
    const { begin = [], end = [] } = Object.groupBy(stories.get(epoch) ?? [], (line) =>
      isBeginning(line) ? 'begin' : 'end',
    );
    return [...begin, ...(outputs.get(epoch) ?? []), ...end];
  });
}

/** Tells how an attempt began: what it wrote comes after it. */
export function isBeginning({ message }: Pick<LogLine, 'message'>): boolean {
  return /^(queued|handed to|attempt \d+( \(again\))? started)/.test(message);
}

/** The text of a log: lines, and before those of each attempt a heading, unless only some of them were asked for. */
export function parseLog(text: string): WrittenLine[] {
  let epoch = 0;
  return text.split('\n').flatMap((line): WrittenLine[] => {
    const [, handedOut] = /^# (?:attempt \d+, )?epoch (\d+)/.exec(line) ?? [];
    if (handedOut !== undefined) epoch = Number(handedOut);
    const [, ms, letter, said = ''] = /^(\d+) ([oes]) (.*)$/su.exec(line) ?? [];
    if (ms === undefined) return [];
    const at = new Date(Number(ms)).toISOString();
    return [{ epoch, at, stream: STREAMS[letter as keyof typeof STREAMS], text: said }];
  });
}
