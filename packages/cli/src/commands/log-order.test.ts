import type { LogLine } from '@carillon/client';
import { expect, test } from 'vitest';
import { inOrder, parseLog } from './log-order.ts';

const said = (epoch: number, seconds: number, message: string): LogLine => {
  const at = new Date(seconds * 1_000).toISOString();
  return { at, message, epoch, run_id: 'r', attempt_number: 1, timestamp: at };
};
const textOf = (line: LogLine | { text: string }) => ('message' in line ? line.message : line.text);

const STORY = [
  said(1, 1, 'handed to worker w'),
  said(1, 2, 'attempt 1 started'),
  said(2, 20, 'handed to worker v'),
  said(2, 20, 'attempt 1 (again) started'),
  said(1, 20, 'attempt 1 ended: LOST after 18 s'),
  said(1, 20, 'error: the worker was lost'),
  said(2, 30, 'attempt 1 (again) ended: SUCCESS after 10 s'),
];
const TEXT = [
  '# attempt 1, epoch 1, LOST, worker w',
  '3000 o one of the first',
  '25000 s Output may be missing here',
  '# attempt 1, epoch 2, SUCCESS, worker epoch 7',
  '19000 o by a slow clock',
  '29000 e # epoch 1',
  '# epoch 3',
  '',
].join('\n');

test('each attempt has its own lines, whatever their times are', () => {
  expect(inOrder(STORY, parseLog(TEXT)).map(textOf)).toEqual([
    'handed to worker w',
    'attempt 1 started',
    'one of the first',
    'Output may be missing here',
    'attempt 1 ended: LOST after 18 s',
    'error: the worker was lost',
    'handed to worker v',
    'attempt 1 (again) started',
    'by a slow clock',
    '# epoch 1',
    'attempt 1 (again) ended: SUCCESS after 10 s',
  ]);
});

test('lines without headings keep the order in which the server gave them', () => {
  const lines = parseLog('2000 o b\n1000 e a\nnot a line\n');
  expect(lines.map(({ epoch, stream, text }) => `${epoch} ${stream} ${text}`)).toEqual([
    '0 stdout b',
    '0 stderr a',
  ]);
});
